define internal void @edge(ptr readonly %p0, ptr readonly %p1, ptr %p2, float %p3, ptr noalias readonly %words, ptr noalias readonly %frame, i32 %x0, i32 %x1, i32 %y0, i32 %y1, i32 %z, i32 %ox, i32 %oy, i32 %oz) noinline #0 {
entry:
  %t1 = getelementptr i32, ptr %words, i64 1
  %t2 = load i32, ptr %t1
  %t3 = getelementptr i32, ptr %words, i64 2
  %t4 = load i32, ptr %t3
  %t5 = getelementptr i32, ptr %words, i64 3
  %t6 = load i32, ptr %t5
  %t7 = alloca i32
  %t13 = alloca i32
  br label %start
start:
  store i32 %y0, ptr %t7
  br label %t8
t8:
  %t11 = load i32, ptr %t7
  %t12 = icmp ult i32 %t11, %y1
  br i1 %t12, label %t9, label %t10
t9:
  store i32 %x0, ptr %t13
  br label %t14
t14:
  %t17 = load i32, ptr %t13
  %t18 = icmp ult i32 %t17, %x1
  br i1 %t18, label %t15, label %t16
t15:
  %t19 = sub i32 %x1, %t17
  %t20 = insertelement <8 x i32> poison, i32 %t19, i64 0
  %t21 = shufflevector <8 x i32> %t20, <8 x i32> poison, <8 x i32> zeroinitializer
  %t22 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %t21
  %t24 = icmp ugt i32 %t17, -9
  %t25 = sext i32 %t17 to i64
  %t26 = zext i32 %t17 to i64
  %t27 = select i1 %t24, i64 %t25, i64 %t26
  %t28 = getelementptr float, ptr %p0, i64 %t27
  %t29 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %t28, i32 4, <8 x i1> %t22, <8 x float> zeroinitializer)
  %t30 = insertelement <8 x float> poison, float %p3, i64 0
  %t31 = shufflevector <8 x float> %t30, <8 x float> poison, <8 x i32> zeroinitializer
  %t32 = fmul <8 x float> %t31, %t29
  %t33 = icmp ugt i32 %t17, -9
  %t34 = sext i32 %t17 to i64
  %t35 = zext i32 %t17 to i64
  %t36 = select i1 %t33, i64 %t34, i64 %t35
  %t37 = getelementptr float, ptr %p1, i64 %t36
  %t38 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %t37, i32 4, <8 x i1> %t22, <8 x float> zeroinitializer)
  %t39 = fadd <8 x float> %t32, %t38
  %t40 = icmp ugt i32 %t17, -9
  %t41 = sext i32 %t17 to i64
  %t42 = zext i32 %t17 to i64
  %t43 = select i1 %t40, i64 %t41, i64 %t42
  %t44 = getelementptr float, ptr %p2, i64 %t43
  call void @llvm.masked.store.v8f32.p0(<8 x float> %t39, ptr %t44, i32 4, <8 x i1> %t22)
  br label %t23
t23:
  %t45 = call i32 @llvm.uadd.sat.i32(i32 %t17, i32 8)
  store i32 %t45, ptr %t13
  br label %t14
t16:
  %t46 = call i32 @llvm.uadd.sat.i32(i32 %t11, i32 1)
  store i32 %t46, ptr %t7
  br label %t8
t10:
  ret void
}
define internal void @tile(ptr readonly %p0, ptr readonly %p1, ptr %p2, float %p3, ptr noalias readonly %words, ptr noalias readonly %frame, i32 %x0, i32 %x1, i32 %y0, i32 %y1, i32 %z, i32 %ox, i32 %oy, i32 %oz)  #0 {
entry:
  %t1 = getelementptr i32, ptr %words, i64 1
  %t2 = load i32, ptr %t1
  %t3 = getelementptr i32, ptr %words, i64 2
  %t4 = load i32, ptr %t3
  %t5 = getelementptr i32, ptr %words, i64 3
  %t6 = load i32, ptr %t5
  %t36 = alloca i32
  %t42 = alloca i32
  br label %start
start:
  %t7 = call i32 @llvm.umin.i32(i32 %x0, i32 %x1)
  %t8 = call i32 @llvm.umin.i32(i32 %x1, i32 %x1)
  %t9 = call i32 @llvm.umax.i32(i32 %t8, i32 %t7)
  %t10 = sub i32 %t9, %t7
  %t11 = and i32 %t10, -64
  %t12 = add i32 %t7, %t11
  %t13 = call i32 @llvm.umin.i32(i32 %y0, i32 %y1)
  %t14 = call i32 @llvm.umin.i32(i32 %y1, i32 %y1)
  %t15 = call i32 @llvm.umax.i32(i32 %t14, i32 %t13)
  %t16 = icmp ult i32 %x0, %x1
  %t17 = icmp ult i32 %y0, %t13
  %t18 = and i1 %t16, %t17
  br i1 %t18, label %t19, label %t20
t19:
  call void @edge(ptr %p0, ptr %p1, ptr %p2, float %p3, ptr %words, ptr %frame, i32 %x0, i32 %x1, i32 %y0, i32 %t13, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t20
t20:
  %t21 = icmp ult i32 %x0, %x1
  %t22 = icmp ult i32 %t15, %y1
  %t23 = and i1 %t21, %t22
  br i1 %t23, label %t24, label %t25
t24:
  call void @edge(ptr %p0, ptr %p1, ptr %p2, float %p3, ptr %words, ptr %frame, i32 %x0, i32 %x1, i32 %t15, i32 %y1, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t25
t25:
  %t26 = icmp ult i32 %x0, %t7
  %t27 = icmp ult i32 %t13, %t15
  %t28 = and i1 %t26, %t27
  br i1 %t28, label %t29, label %t30
t29:
  call void @edge(ptr %p0, ptr %p1, ptr %p2, float %p3, ptr %words, ptr %frame, i32 %x0, i32 %t7, i32 %t13, i32 %t15, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t30
t30:
  %t31 = icmp ult i32 %t12, %x1
  %t32 = icmp ult i32 %t13, %t15
  %t33 = and i1 %t31, %t32
  br i1 %t33, label %t34, label %t35
t34:
  call void @edge(ptr %p0, ptr %p1, ptr %p2, float %p3, ptr %words, ptr %frame, i32 %t12, i32 %x1, i32 %t13, i32 %t15, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t35
t35:
  store i32 %t13, ptr %t36
  br label %t37
t37:
  %t40 = load i32, ptr %t36
  %t41 = icmp ult i32 %t40, %t15
  br i1 %t41, label %t38, label %t39
t38:
  store i32 %t7, ptr %t42
  br label %t43
t43:
  %t46 = load i32, ptr %t42
  %t47 = icmp ult i32 %t46, %t12
  br i1 %t47, label %t44, label %t45
t44:
  %t49 = zext i32 %t46 to i64
  %t50 = getelementptr float, ptr %p0, i64 %t49
  %t51 = load <64 x float>, ptr %t50, align 4
  %t52 = insertelement <64 x float> poison, float %p3, i64 0
  %t53 = shufflevector <64 x float> %t52, <64 x float> poison, <64 x i32> zeroinitializer
  %t54 = fmul <64 x float> %t53, %t51
  %t55 = zext i32 %t46 to i64
  %t56 = getelementptr float, ptr %p1, i64 %t55
  %t57 = load <64 x float>, ptr %t56, align 4
  %t58 = fadd <64 x float> %t54, %t57
  %t59 = zext i32 %t46 to i64
  %t60 = getelementptr float, ptr %p2, i64 %t59
  store <64 x float> %t58, ptr %t60, align 4
  br label %t48
t48:
  %t61 = add nuw i32 %t46, 64
  store i32 %t61, ptr %t42
  br label %t43
t45:
  %t62 = add nuw i32 %t40, 1
  store i32 %t62, ptr %t36
  br label %t37
t39:
  ret void
}
