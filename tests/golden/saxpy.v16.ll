; p0 is 'x', float
; p1 is 'y', float
; p2 is 'out', float
; p3 is 'a', float
@zeros = internal constant [16 x i8] zeroinitializer, align 16
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
  %t7 = ptrtoint ptr %p2 to i64
  %t8 = sub i64 0, %t7
  %t9 = and i64 %t8, 63
  %t10 = udiv i64 %t9, 4
  %t11 = trunc i64 %t10 to i32
  %t44 = alloca i32
  %t50 = alloca i32
  br label %start
start:
  %t12 = sub i32 %t11, %x0
  %t13 = and i32 %t12, 15
  %t14 = call i32 @llvm.uadd.sat.i32(i32 %x0, i32 %t13)
  %t15 = call i32 @llvm.umin.i32(i32 %t14, i32 %x1)
  %t16 = call i32 @llvm.umin.i32(i32 %x1, i32 %x1)
  %t17 = call i32 @llvm.umax.i32(i32 %t16, i32 %t15)
  %t18 = sub i32 %t17, %t15
  %t19 = and i32 %t18, -16
  %t20 = add i32 %t15, %t19
  %t21 = call i32 @llvm.umin.i32(i32 %y0, i32 %y1)
  %t22 = call i32 @llvm.umin.i32(i32 %y1, i32 %y1)
  %t23 = call i32 @llvm.umax.i32(i32 %t22, i32 %t21)
  %t24 = icmp ult i32 %x0, %x1
  %t25 = icmp ult i32 %y0, %t21
  %t26 = and i1 %t24, %t25
  br i1 %t26, label %t27, label %t28
t27:
  call void @edge(ptr %p0, ptr %p1, ptr %p2, float %p3, ptr %words, ptr %frame, i32 %x0, i32 %x1, i32 %y0, i32 %t21, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t28
t28:
  %t29 = icmp ult i32 %x0, %x1
  %t30 = icmp ult i32 %t23, %y1
  %t31 = and i1 %t29, %t30
  br i1 %t31, label %t32, label %t33
t32:
  call void @edge(ptr %p0, ptr %p1, ptr %p2, float %p3, ptr %words, ptr %frame, i32 %x0, i32 %x1, i32 %t23, i32 %y1, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t33
t33:
  %t34 = icmp ult i32 %x0, %t15
  %t35 = icmp ult i32 %t21, %t23
  %t36 = and i1 %t34, %t35
  br i1 %t36, label %t37, label %t38
t37:
  call void @edge(ptr %p0, ptr %p1, ptr %p2, float %p3, ptr %words, ptr %frame, i32 %x0, i32 %t15, i32 %t21, i32 %t23, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t38
t38:
  %t39 = icmp ult i32 %t20, %x1
  %t40 = icmp ult i32 %t21, %t23
  %t41 = and i1 %t39, %t40
  br i1 %t41, label %t42, label %t43
t42:
  call void @edge(ptr %p0, ptr %p1, ptr %p2, float %p3, ptr %words, ptr %frame, i32 %t20, i32 %x1, i32 %t21, i32 %t23, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t43
t43:
  store i32 %t21, ptr %t44
  br label %t45
t45:
  %t48 = load i32, ptr %t44
  %t49 = icmp ult i32 %t48, %t23
  br i1 %t49, label %t46, label %t47
t46:
  store i32 %t15, ptr %t50
  br label %t51
t51:
  %t54 = load i32, ptr %t50
  %t55 = icmp ult i32 %t54, %t20
  br i1 %t55, label %t52, label %t53
t52:
  %t57 = zext i32 %t54 to i64
  %t58 = getelementptr float, ptr %p0, i64 %t57
  %t59 = load <16 x float>, ptr %t58, align 4
  %t60 = insertelement <16 x float> poison, float %p3, i64 0
  %t61 = shufflevector <16 x float> %t60, <16 x float> poison, <16 x i32> zeroinitializer
  %t62 = fmul <16 x float> %t61, %t59
  %t63 = zext i32 %t54 to i64
  %t64 = getelementptr float, ptr %p1, i64 %t63
  %t65 = load <16 x float>, ptr %t64, align 4
  %t66 = fadd <16 x float> %t62, %t65
  %t67 = zext i32 %t54 to i64
  %t68 = getelementptr float, ptr %p2, i64 %t67
  store <16 x float> %t66, ptr %t68, align 4
  br label %t56
t56:
  %t69 = add nuw i32 %t54, 16
  store i32 %t69, ptr %t50
  br label %t51
t53:
  %t70 = add nuw i32 %t48, 1
  store i32 %t70, ptr %t44
  br label %t45
t47:
  ret void
}

define void @vyre_task(ptr %frame, i64 %first, i64 %last)  #0 {
entry:
  %t1 = getelementptr i8, ptr %frame, i64 32
  %p0 = load ptr, ptr %t1
  %t2 = getelementptr i8, ptr %frame, i64 40
  %p1 = load ptr, ptr %t2
  %t3 = getelementptr i8, ptr %frame, i64 48
  %p2 = load ptr, ptr %t3
  %t4 = getelementptr i8, ptr %frame, i64 56
  %p3 = load float, ptr %t4
  %words = getelementptr i8, ptr %frame, i64 64
  %t5 = getelementptr i32, ptr %words, i64 5
  %t6 = load i32, ptr %t5
  %t7 = getelementptr i32, ptr %words, i64 6
  %t8 = load i32, ptr %t7
  %t9 = getelementptr i32, ptr %words, i64 7
  %t10 = load i32, ptr %t9
  %t11 = getelementptr i32, ptr %words, i64 1
  %t12 = load i32, ptr %t11
  %t13 = getelementptr i32, ptr %words, i64 2
  %t14 = load i32, ptr %t13
  %t15 = getelementptr i32, ptr %words, i64 3
  %t16 = load i32, ptr %t15
  %t17 = ptrtoint ptr %p2 to i64
  %t18 = sub i64 0, %t17
  %t19 = and i64 %t18, 63
  %t20 = udiv i64 %t19, 4
  %t21 = trunc i64 %t20 to i32
  %t22 = alloca i64
  %t28 = getelementptr i8, ptr %frame, i64 12
  %t29 = load i32, ptr %t28
  %t33 = getelementptr i8, ptr %frame, i64 0
  %t34 = load i32, ptr %t33
  %t48 = getelementptr i8, ptr %frame, i64 16
  %t49 = load i32, ptr %t48
  %t53 = getelementptr i8, ptr %frame, i64 4
  %t54 = load i32, ptr %t53
  %t62 = getelementptr i8, ptr %frame, i64 20
  %t63 = load i32, ptr %t62
  %t65 = getelementptr i8, ptr %frame, i64 8
  %t66 = load i32, ptr %t65
  %t74 = alloca i32
  br label %start
start:
  store i64 %first, ptr %t22
  br label %t23
t23:
  %t26 = load i64, ptr %t22
  %t27 = icmp ult i64 %t26, %last
  br i1 %t27, label %t24, label %t25
t24:
  %t30 = zext i32 %t29 to i64
  %t31 = urem i64 %t26, %t30
  %t32 = udiv i64 %t26, %t30
  %t35 = zext i32 %t34 to i64
  %t36 = mul i64 %t31, %t35
  %t37 = add i64 %t36, %t35
  %t38 = zext i32 %t21 to i64
  %t39 = icmp eq i64 %t31, 0
  %t40 = add i64 %t36, %t38
  %t41 = select i1 %t39, i64 0, i64 %t40
  %t42 = add i64 %t37, %t38
  %t43 = zext i32 %t6 to i64
  %t44 = call i64 @llvm.umin.i64(i64 %t41, i64 %t43)
  %t45 = call i64 @llvm.umin.i64(i64 %t42, i64 %t43)
  %t46 = trunc i64 %t44 to i32
  %t47 = trunc i64 %t45 to i32
  %t50 = zext i32 %t49 to i64
  %t51 = urem i64 %t32, %t50
  %t52 = udiv i64 %t32, %t50
  %t55 = zext i32 %t54 to i64
  %t56 = mul i64 %t51, %t55
  %t57 = add i64 %t56, %t55
  %t58 = zext i32 %t8 to i64
  %t59 = call i64 @llvm.umin.i64(i64 %t57, i64 %t58)
  %t60 = trunc i64 %t56 to i32
  %t61 = trunc i64 %t59 to i32
  %t64 = zext i32 %t63 to i64
  %t67 = zext i32 %t66 to i64
  %t68 = mul i64 %t52, %t67
  %t69 = add i64 %t68, %t67
  %t70 = zext i32 %t10 to i64
  %t71 = call i64 @llvm.umin.i64(i64 %t69, i64 %t70)
  %t72 = trunc i64 %t68 to i32
  %t73 = trunc i64 %t71 to i32
  store i32 %t72, ptr %t74
  br label %t75
t75:
  %t78 = load i32, ptr %t74
  %t79 = icmp ult i32 %t78, %t73
  br i1 %t79, label %t76, label %t77
t76:
  call void @tile(ptr %p0, ptr %p1, ptr %p2, float %p3, ptr %words, ptr %frame, i32 %t46, i32 %t47, i32 %t60, i32 %t61, i32 %t78, i32 %t46, i32 %t60, i32 %t72)
  %t80 = call i32 @llvm.uadd.sat.i32(i32 %t78, i32 1)
  store i32 %t80, ptr %t74
  br label %t75
t77:
  %t81 = add nuw i64 %t26, 1
  store i64 %t81, ptr %t22
  br label %t23
t25:
  ret void
}

declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, i32, <8 x i1>, <8 x float>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, i32, <8 x i1>)
declare i32 @llvm.uadd.sat.i32(i32, i32)
declare i32 @llvm.umin.i32(i32, i32)
declare i32 @llvm.umax.i32(i32, i32)
declare i64 @llvm.umin.i64(i64, i64)
attributes #0 = { nounwind "no-trapping-math"="true" "prefer-vector-width"="512" "min-legal-vector-width"="512" }
