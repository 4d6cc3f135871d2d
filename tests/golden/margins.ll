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
  %t12 = ptrtoint ptr %p1 to i64
  %t13 = sub i64 0, %t12
  %t14 = and i64 %t13, 63
  %t15 = udiv i64 %t14, 4
  %t16 = trunc i64 %t15 to i32
  %t49 = alloca i32
  %t55 = alloca i32
  br label %start
start:
  %t5 = call i32 @llvm.uadd.sat.i32(i32 %t2, i32 1)
  %t6 = call i32 @llvm.umax.i32(i32 %x0, i32 1)
  %t7 = call i32 @llvm.umin.i32(i32 %x1, i32 %t5)
  %t8 = call i32 @llvm.umin.i32(i32 %t7, i32 %t2)
  %t9 = call i32 @llvm.usub.sat.i32(i32 %t2, i32 2)
  %t10 = call i32 @llvm.umin.i32(i32 %t8, i32 %t9)
  %t11 = call i32 @llvm.umin.i32(i32 %t10, i32 %t4)
  %t17 = sub i32 %t16, %t6
  %t18 = and i32 %t17, 15
  %t19 = call i32 @llvm.uadd.sat.i32(i32 %t6, i32 %t18)
  %t20 = call i32 @llvm.umin.i32(i32 %t19, i32 %x1)
  %t21 = call i32 @llvm.umin.i32(i32 %t11, i32 %x1)
  %t22 = call i32 @llvm.umax.i32(i32 %t21, i32 %t20)
  %t23 = sub i32 %t22, %t20
  %t24 = and i32 %t23, -8
  %t25 = add i32 %t20, %t24
  %t26 = call i32 @llvm.umin.i32(i32 %y0, i32 %y1)
  %t27 = call i32 @llvm.umin.i32(i32 %y1, i32 %y1)
  %t28 = call i32 @llvm.umax.i32(i32 %t27, i32 %t26)
  %t29 = icmp ult i32 %x0, %x1
  %t30 = icmp ult i32 %y0, %t26
  %t31 = and i1 %t29, %t30
  br i1 %t31, label %t32, label %t33
t32:
  call void @edge(ptr %p0, ptr %p1, ptr %words, ptr %frame, i32 %x0, i32 %x1, i32 %y0, i32 %t26, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t33
t33:
  %t34 = icmp ult i32 %x0, %x1
  %t35 = icmp ult i32 %t28, %y1
  %t36 = and i1 %t34, %t35
  br i1 %t36, label %t37, label %t38
t37:
  call void @edge(ptr %p0, ptr %p1, ptr %words, ptr %frame, i32 %x0, i32 %x1, i32 %t28, i32 %y1, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t38
t38:
  %t39 = icmp ult i32 %x0, %t20
  %t40 = icmp ult i32 %t26, %t28
  %t41 = and i1 %t39, %t40
  br i1 %t41, label %t42, label %t43
t42:
  call void @edge(ptr %p0, ptr %p1, ptr %words, ptr %frame, i32 %x0, i32 %t20, i32 %t26, i32 %t28, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t43
t43:
  %t44 = icmp ult i32 %t25, %x1
  %t45 = icmp ult i32 %t26, %t28
  %t46 = and i1 %t44, %t45
  br i1 %t46, label %t47, label %t48
t47:
  call void @edge(ptr %p0, ptr %p1, ptr %words, ptr %frame, i32 %t25, i32 %x1, i32 %t26, i32 %t28, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t48
t48:
  store i32 %t26, ptr %t49
  br label %t50
t50:
  %t53 = load i32, ptr %t49
  %t54 = icmp ult i32 %t53, %t28
  br i1 %t54, label %t51, label %t52
t51:
  store i32 %t20, ptr %t55
  br label %t56
t56:
  %t59 = load i32, ptr %t55
  %t60 = icmp ult i32 %t59, %t25
  br i1 %t60, label %t57, label %t58
t57:
  %t62 = add i32 %t59, 4294967295
  %t63 = zext i32 %t62 to i64
  %t64 = getelementptr float, ptr %p0, i64 %t63
  %t65 = load <8 x float>, ptr %t64, align 4
  %t66 = add i32 %t59, 0
  %t67 = zext i32 %t66 to i64
  %t68 = getelementptr float, ptr %p0, i64 %t67
  %t69 = load <8 x float>, ptr %t68, align 4
  %t70 = add i32 %t59, 2
  %t71 = zext i32 %t70 to i64
  %t72 = getelementptr float, ptr %p0, i64 %t71
  %t73 = load <8 x float>, ptr %t72, align 4
  %t74 = fmul <8 x float> %t69, %t73
  %t75 = fadd <8 x float> %t65, %t74
  %t76 = zext i32 %t59 to i64
  %t77 = getelementptr float, ptr %p1, i64 %t76
  store <8 x float> %t75, ptr %t77, align 4
  br label %t61
t61:
  %t78 = add nuw i32 %t59, 8
  store i32 %t78, ptr %t55
  br label %t56
t58:
  %t79 = add nuw i32 %t53, 1
  store i32 %t79, ptr %t49
  br label %t50
t52:
  ret void
}
