define internal void @tile(ptr noalias readonly %p0, ptr noalias %p1, ptr noalias readonly %words, ptr noalias readonly %frame, ptr noalias %c0, i32 %x0, i32 %x1, i32 %y0, i32 %y1, i32 %z, i32 %ox, i32 %oy, i32 %oz)  #0 {
entry:
  %t1 = getelementptr i32, ptr %words, i64 1
  %t2 = load i32, ptr %t1
  %t3 = getelementptr i32, ptr %c0, i64 0
  %t4 = getelementptr i32, ptr %c0, i64 20
  %t5 = getelementptr i32, ptr %c0, i64 40
  %t6 = getelementptr i32, ptr %c0, i64 60
  %t37 = alloca i32
  %t43 = alloca i32
  br label %start
start:
  %t7 = call i32 @llvm.umin.i32(i32 %x1, i32 %t2)
  %t8 = call i32 @llvm.umin.i32(i32 %x0, i32 %x1)
  %t9 = call i32 @llvm.umin.i32(i32 %t7, i32 %x1)
  %t10 = call i32 @llvm.umax.i32(i32 %t9, i32 %t8)
  %t11 = sub i32 %t10, %t8
  %t12 = and i32 %t11, -2
  %t13 = add i32 %t8, %t12
  %t14 = call i32 @llvm.umin.i32(i32 %y0, i32 %y1)
  %t15 = call i32 @llvm.umin.i32(i32 %y1, i32 %y1)
  %t16 = call i32 @llvm.umax.i32(i32 %t15, i32 %t14)
  %t17 = icmp ult i32 %x0, %x1
  %t18 = icmp ult i32 %y0, %t14
  %t19 = and i1 %t17, %t18
  br i1 %t19, label %t20, label %t21
t20:
  call void @edge(ptr %p0, ptr %p1, ptr %words, ptr %frame, ptr %c0, i32 %x0, i32 %x1, i32 %y0, i32 %t14, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t21
t21:
  %t22 = icmp ult i32 %x0, %x1
  %t23 = icmp ult i32 %t16, %y1
  %t24 = and i1 %t22, %t23
  br i1 %t24, label %t25, label %t26
t25:
  call void @edge(ptr %p0, ptr %p1, ptr %words, ptr %frame, ptr %c0, i32 %x0, i32 %x1, i32 %t16, i32 %y1, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t26
t26:
  %t27 = icmp ult i32 %x0, %t8
  %t28 = icmp ult i32 %t14, %t16
  %t29 = and i1 %t27, %t28
  br i1 %t29, label %t30, label %t31
t30:
  call void @edge(ptr %p0, ptr %p1, ptr %words, ptr %frame, ptr %c0, i32 %x0, i32 %t8, i32 %t14, i32 %t16, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t31
t31:
  %t32 = icmp ult i32 %t13, %x1
  %t33 = icmp ult i32 %t14, %t16
  %t34 = and i1 %t32, %t33
  br i1 %t34, label %t35, label %t36
t35:
  call void @edge(ptr %p0, ptr %p1, ptr %words, ptr %frame, ptr %c0, i32 %t13, i32 %x1, i32 %t14, i32 %t16, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t36
t36:
  store i32 %t14, ptr %t37
  br label %t38
t38:
  %t41 = load i32, ptr %t37
  %t42 = icmp ult i32 %t41, %t16
  br i1 %t42, label %t39, label %t40
t39:
  store i32 %t8, ptr %t43
  br label %t44
t44:
  %t47 = load i32, ptr %t43
  %t48 = icmp ult i32 %t47, %t13
  br i1 %t48, label %t45, label %t46
t45:
  %t50 = zext i32 %t47 to i64
  %t51 = getelementptr i32, ptr %p0, i64 %t50
  %t52 = load i32, ptr %t51, align 4
  %t53 = icmp ult i32 %t52, 4
  %t54 = zext i32 %t52 to i64
  %t55 = select i1 %t53, i64 %t54, i64 4
  %t56 = getelementptr i32, ptr %t3, i64 %t55
  %t57 = load i32, ptr %t56
  %t58 = add i32 %t57, 1
  store i32 %t58, ptr %t56
  br label %t49
t49:
  %t60 = add i32 %t47, 1
  %t61 = zext i32 %t60 to i64
  %t62 = getelementptr i32, ptr %p0, i64 %t61
  %t63 = load i32, ptr %t62, align 4
  %t64 = icmp ult i32 %t63, 4
  %t65 = zext i32 %t63 to i64
  %t66 = select i1 %t64, i64 %t65, i64 4
  %t67 = getelementptr i32, ptr %t4, i64 %t66
  %t68 = load i32, ptr %t67
  %t69 = add i32 %t68, 1
  store i32 %t69, ptr %t67
  br label %t59
t59:
  %t70 = add nuw i32 %t47, 2
  store i32 %t70, ptr %t43
  br label %t44
t46:
  %t71 = add nuw i32 %t41, 1
  store i32 %t71, ptr %t37
  br label %t38
t40:
  ret void
}
define void @vyre_task(ptr %frame, i64 %first, i64 %last)  #0 {
entry:
  %t1 = getelementptr i8, ptr %frame, i64 32
  %p0 = load ptr, ptr %t1
  %t2 = getelementptr i8, ptr %frame, i64 40
  %p1 = load ptr, ptr %t2
  %words = getelementptr i8, ptr %frame, i64 48
  %c0 = alloca [80 x i32], align 64
  %t3 = getelementptr i32, ptr %words, i64 3
  %t4 = load i32, ptr %t3
  %t5 = getelementptr i32, ptr %words, i64 4
  %t6 = load i32, ptr %t5
  %t7 = getelementptr i32, ptr %words, i64 5
  %t8 = load i32, ptr %t7
  %t9 = alloca i64
  %t15 = getelementptr i8, ptr %frame, i64 12
  %t16 = load i32, ptr %t15
  %t20 = getelementptr i8, ptr %frame, i64 0
  %t21 = load i32, ptr %t20
  %t29 = getelementptr i8, ptr %frame, i64 16
  %t30 = load i32, ptr %t29
  %t34 = getelementptr i8, ptr %frame, i64 4
  %t35 = load i32, ptr %t34
  %t43 = getelementptr i8, ptr %frame, i64 20
  %t44 = load i32, ptr %t43
  %t46 = getelementptr i8, ptr %frame, i64 8
  %t47 = load i32, ptr %t46
  %t55 = alloca i32
  %t63 = getelementptr i32, ptr %words, i64 1
  %t64 = load i32, ptr %t63
  %t65 = alloca i64
  br label %start
start:
  call void @llvm.memset.p0.i64(ptr %c0, i8 0, i64 320, i1 false)
  store i64 %first, ptr %t9
  br label %t10
t10:
  %t13 = load i64, ptr %t9
  %t14 = icmp ult i64 %t13, %last
  br i1 %t14, label %t11, label %t12
t11:
  %t17 = zext i32 %t16 to i64
  %t18 = urem i64 %t13, %t17
  %t19 = udiv i64 %t13, %t17
  %t22 = zext i32 %t21 to i64
  %t23 = mul i64 %t18, %t22
  %t24 = add i64 %t23, %t22
  %t25 = zext i32 %t4 to i64
  %t26 = call i64 @llvm.umin.i64(i64 %t24, i64 %t25)
  %t27 = trunc i64 %t23 to i32
  %t28 = trunc i64 %t26 to i32
  %t31 = zext i32 %t30 to i64
  %t32 = urem i64 %t19, %t31
  %t33 = udiv i64 %t19, %t31
  %t36 = zext i32 %t35 to i64
  %t37 = mul i64 %t32, %t36
  %t38 = add i64 %t37, %t36
  %t39 = zext i32 %t6 to i64
  %t40 = call i64 @llvm.umin.i64(i64 %t38, i64 %t39)
  %t41 = trunc i64 %t37 to i32
  %t42 = trunc i64 %t40 to i32
  %t45 = zext i32 %t44 to i64
  %t48 = zext i32 %t47 to i64
  %t49 = mul i64 %t33, %t48
  %t50 = add i64 %t49, %t48
  %t51 = zext i32 %t8 to i64
  %t52 = call i64 @llvm.umin.i64(i64 %t50, i64 %t51)
  %t53 = trunc i64 %t49 to i32
  %t54 = trunc i64 %t52 to i32
  store i32 %t53, ptr %t55
  br label %t56
t56:
  %t59 = load i32, ptr %t55
  %t60 = icmp ult i32 %t59, %t54
  br i1 %t60, label %t57, label %t58
t57:
  call void @tile(ptr %p0, ptr %p1, ptr %words, ptr %frame, ptr %c0, i32 %t27, i32 %t28, i32 %t41, i32 %t42, i32 %t59, i32 %t27, i32 %t41, i32 %t53)
  %t61 = call i32 @llvm.uadd.sat.i32(i32 %t59, i32 1)
  store i32 %t61, ptr %t55
  br label %t56
t58:
  %t62 = add nuw i64 %t13, 1
  store i64 %t62, ptr %t9
  br label %t10
t12:
  store i64 0, ptr %t65
  br label %t66
t66:
  %t69 = load i64, ptr %t65
  %t70 = icmp ult i64 %t69, 4
  br i1 %t70, label %t67, label %t68
t67:
  %t71 = getelementptr i32, ptr %c0, i64 0
  %t72 = getelementptr i32, ptr %t71, i64 %t69
  %t73 = load i32, ptr %t72
  %t74 = getelementptr i32, ptr %c0, i64 20
  %t75 = getelementptr i32, ptr %t74, i64 %t69
  %t76 = load i32, ptr %t75
  %t77 = add i32 %t73, %t76
  %t78 = getelementptr i32, ptr %c0, i64 40
  %t79 = getelementptr i32, ptr %t78, i64 %t69
  %t80 = load i32, ptr %t79
  %t81 = add i32 %t77, %t80
  %t82 = getelementptr i32, ptr %c0, i64 60
  %t83 = getelementptr i32, ptr %t82, i64 %t69
  %t84 = load i32, ptr %t83
  %t85 = add i32 %t81, %t84
  %t88 = icmp ne i32 %t85, 0
  br i1 %t88, label %t86, label %t87
t86:
  %t89 = getelementptr i32, ptr %p1, i64 %t69
  %t90 = atomicrmw add ptr %t89, i32 %t85 monotonic
  br label %t87
t87:
  %t91 = add nuw i64 %t69, 1
  store i64 %t91, ptr %t65
  br label %t66
t68:
  ret void
}
