define internal void @edge(ptr noalias readonly %p0, ptr noalias %p1, ptr noalias readonly %words, ptr noalias readonly %frame, i32 %x0, i32 %x1, i32 %y0, i32 %y1, i32 %z, i32 %ox, i32 %oy, i32 %oz) noinline #0 {
entry:
  %t1 = getelementptr i32, ptr %words, i64 1
  %t2 = load i32, ptr %t1
  %t3 = getelementptr i32, ptr %words, i64 2
  %t4 = load i32, ptr %t3
  %t5 = alloca i32
  %t11 = alloca i32
  br label %start
start:
  store i32 %y0, ptr %t5
  br label %t6
t6:
  %t9 = load i32, ptr %t5
  %t10 = icmp ult i32 %t9, %y1
  br i1 %t10, label %t7, label %t8
t7:
  store i32 %x0, ptr %t11
  br label %t12
t12:
  %t15 = load i32, ptr %t11
  %t16 = icmp ult i32 %t15, %x1
  br i1 %t16, label %t13, label %t14
t13:
  %t17 = sub i32 %x1, %t15
  %t18 = insertelement <8 x i32> poison, i32 %t17, i64 0
  %t19 = shufflevector <8 x i32> %t18, <8 x i32> poison, <8 x i32> zeroinitializer
  %t20 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %t19
  %t22 = add i32 %t15, 4294967295
  %t23 = insertelement <8 x i32> poison, i32 %t22, i64 0
  %t24 = shufflevector <8 x i32> %t23, <8 x i32> poison, <8 x i32> zeroinitializer
  %t25 = add <8 x i32> %t24, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %t26 = insertelement <8 x i32> poison, i32 %t2, i64 0
  %t27 = shufflevector <8 x i32> %t26, <8 x i32> poison, <8 x i32> zeroinitializer
  %t28 = icmp ult <8 x i32> %t25, %t27
  %t29 = and <8 x i1> %t20, %t28
  %t30 = icmp ugt i32 %t22, -9
  %t31 = sext i32 %t22 to i64
  %t32 = zext i32 %t22 to i64
  %t33 = select i1 %t30, i64 %t31, i64 %t32
  %t34 = getelementptr float, ptr %p0, i64 %t33
  %t35 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %t34, i32 4, <8 x i1> %t29, <8 x float> zeroinitializer)
  %t36 = add i32 %t15, 0
  %t37 = insertelement <8 x i32> poison, i32 %t36, i64 0
  %t38 = shufflevector <8 x i32> %t37, <8 x i32> poison, <8 x i32> zeroinitializer
  %t39 = add <8 x i32> %t38, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %t40 = insertelement <8 x i32> poison, i32 %t2, i64 0
  %t41 = shufflevector <8 x i32> %t40, <8 x i32> poison, <8 x i32> zeroinitializer
  %t42 = icmp ult <8 x i32> %t39, %t41
  %t43 = and <8 x i1> %t20, %t42
  %t44 = icmp ugt i32 %t36, -9
  %t45 = sext i32 %t36 to i64
  %t46 = zext i32 %t36 to i64
  %t47 = select i1 %t44, i64 %t45, i64 %t46
  %t48 = getelementptr float, ptr %p0, i64 %t47
  %t49 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %t48, i32 4, <8 x i1> %t43, <8 x float> zeroinitializer)
  %t50 = add i32 %t15, 2
  %t51 = insertelement <8 x i32> poison, i32 %t50, i64 0
  %t52 = shufflevector <8 x i32> %t51, <8 x i32> poison, <8 x i32> zeroinitializer
  %t53 = add <8 x i32> %t52, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %t54 = insertelement <8 x i32> poison, i32 %t2, i64 0
  %t55 = shufflevector <8 x i32> %t54, <8 x i32> poison, <8 x i32> zeroinitializer
  %t56 = icmp ult <8 x i32> %t53, %t55
  %t57 = and <8 x i1> %t20, %t56
  %t58 = icmp ugt i32 %t50, -9
  %t59 = sext i32 %t50 to i64
  %t60 = zext i32 %t50 to i64
  %t61 = select i1 %t58, i64 %t59, i64 %t60
  %t62 = getelementptr float, ptr %p0, i64 %t61
  %t63 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %t62, i32 4, <8 x i1> %t57, <8 x float> zeroinitializer)
  %t64 = fmul <8 x float> %t49, %t63
  %t65 = fadd <8 x float> %t35, %t64
  %t66 = insertelement <8 x i32> poison, i32 %t15, i64 0
  %t67 = shufflevector <8 x i32> %t66, <8 x i32> poison, <8 x i32> zeroinitializer
  %t68 = add <8 x i32> %t67, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %t69 = insertelement <8 x i32> poison, i32 %t4, i64 0
  %t70 = shufflevector <8 x i32> %t69, <8 x i32> poison, <8 x i32> zeroinitializer
  %t71 = icmp ult <8 x i32> %t68, %t70
  %t72 = and <8 x i1> %t20, %t71
  %t73 = icmp ugt i32 %t15, -9
  %t74 = sext i32 %t15 to i64
  %t75 = zext i32 %t15 to i64
  %t76 = select i1 %t73, i64 %t74, i64 %t75
  %t77 = getelementptr float, ptr %p1, i64 %t76
  call void @llvm.masked.store.v8f32.p0(<8 x float> %t65, ptr %t77, i32 4, <8 x i1> %t72)
  br label %t21
t21:
  %t78 = call i32 @llvm.uadd.sat.i32(i32 %t15, i32 8)
  store i32 %t78, ptr %t11
  br label %t12
t14:
  %t79 = call i32 @llvm.uadd.sat.i32(i32 %t9, i32 1)
  store i32 %t79, ptr %t5
  br label %t6
t8:
  ret void
}
define internal void @tile(ptr noalias readonly %p0, ptr noalias %p1, ptr noalias readonly %words, ptr noalias readonly %frame, i32 %x0, i32 %x1, i32 %y0, i32 %y1, i32 %z, i32 %ox, i32 %oy, i32 %oz)  #0 {
entry:
  %t1 = getelementptr i32, ptr %words, i64 1
  %t2 = load i32, ptr %t1
  %t3 = getelementptr i32, ptr %words, i64 2
  %t4 = load i32, ptr %t3
  %t41 = alloca i32
  %t47 = alloca i32
  br label %start
start:
  %t5 = call i32 @llvm.uadd.sat.i32(i32 %t2, i32 1)
  %t6 = call i32 @llvm.umax.i32(i32 %x0, i32 1)
  %t7 = call i32 @llvm.umin.i32(i32 %x1, i32 %t5)
  %t8 = call i32 @llvm.umin.i32(i32 %t7, i32 %t2)
  %t9 = call i32 @llvm.usub.sat.i32(i32 %t2, i32 2)
  %t10 = call i32 @llvm.umin.i32(i32 %t8, i32 %t9)
  %t11 = call i32 @llvm.umin.i32(i32 %t10, i32 %t4)
  %t12 = call i32 @llvm.umin.i32(i32 %t6, i32 %x1)
  %t13 = call i32 @llvm.umin.i32(i32 %t11, i32 %x1)
  %t14 = call i32 @llvm.umax.i32(i32 %t13, i32 %t12)
  %t15 = sub i32 %t14, %t12
  %t16 = and i32 %t15, -8
  %t17 = add i32 %t12, %t16
  %t18 = call i32 @llvm.umin.i32(i32 %y0, i32 %y1)
  %t19 = call i32 @llvm.umin.i32(i32 %y1, i32 %y1)
  %t20 = call i32 @llvm.umax.i32(i32 %t19, i32 %t18)
  %t21 = icmp ult i32 %x0, %x1
  %t22 = icmp ult i32 %y0, %t18
  %t23 = and i1 %t21, %t22
  br i1 %t23, label %t24, label %t25
t24:
  call void @edge(ptr %p0, ptr %p1, ptr %words, ptr %frame, i32 %x0, i32 %x1, i32 %y0, i32 %t18, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t25
t25:
  %t26 = icmp ult i32 %x0, %x1
  %t27 = icmp ult i32 %t20, %y1
  %t28 = and i1 %t26, %t27
  br i1 %t28, label %t29, label %t30
t29:
  call void @edge(ptr %p0, ptr %p1, ptr %words, ptr %frame, i32 %x0, i32 %x1, i32 %t20, i32 %y1, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t30
t30:
  %t31 = icmp ult i32 %x0, %t12
  %t32 = icmp ult i32 %t18, %t20
  %t33 = and i1 %t31, %t32
  br i1 %t33, label %t34, label %t35
t34:
  call void @edge(ptr %p0, ptr %p1, ptr %words, ptr %frame, i32 %x0, i32 %t12, i32 %t18, i32 %t20, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t35
t35:
  %t36 = icmp ult i32 %t17, %x1
  %t37 = icmp ult i32 %t18, %t20
  %t38 = and i1 %t36, %t37
  br i1 %t38, label %t39, label %t40
t39:
  call void @edge(ptr %p0, ptr %p1, ptr %words, ptr %frame, i32 %t17, i32 %x1, i32 %t18, i32 %t20, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t40
t40:
  store i32 %t18, ptr %t41
  br label %t42
t42:
  %t45 = load i32, ptr %t41
  %t46 = icmp ult i32 %t45, %t20
  br i1 %t46, label %t43, label %t44
t43:
  store i32 %t12, ptr %t47
  br label %t48
t48:
  %t51 = load i32, ptr %t47
  %t52 = icmp ult i32 %t51, %t17
  br i1 %t52, label %t49, label %t50
t49:
  %t54 = add i32 %t51, 4294967295
  %t55 = zext i32 %t54 to i64
  %t56 = getelementptr float, ptr %p0, i64 %t55
  %t57 = load <8 x float>, ptr %t56, align 4
  %t58 = add i32 %t51, 0
  %t59 = zext i32 %t58 to i64
  %t60 = getelementptr float, ptr %p0, i64 %t59
  %t61 = load <8 x float>, ptr %t60, align 4
  %t62 = add i32 %t51, 2
  %t63 = zext i32 %t62 to i64
  %t64 = getelementptr float, ptr %p0, i64 %t63
  %t65 = load <8 x float>, ptr %t64, align 4
  %t66 = fmul <8 x float> %t61, %t65
  %t67 = fadd <8 x float> %t57, %t66
  %t68 = zext i32 %t51 to i64
  %t69 = getelementptr float, ptr %p1, i64 %t68
  store <8 x float> %t67, ptr %t69, align 4
  br label %t53
t53:
  %t70 = add nuw i32 %t51, 8
  store i32 %t70, ptr %t47
  br label %t48
t50:
  %t71 = add nuw i32 %t45, 1
  store i32 %t71, ptr %t41
  br label %t42
t44:
  ret void
}
