define internal void @tile(ptr readonly %p0, ptr noalias readonly %p1, ptr %p2, ptr noalias readonly %words, ptr noalias readonly %frame, i32 %x0, i32 %x1, i32 %y0, i32 %y1, i32 %z, i32 %ox, i32 %oy, i32 %oz)  #0 {
entry:
  %t1 = getelementptr i32, ptr %words, i64 1
  %t2 = load i32, ptr %t1
  %t3 = getelementptr i32, ptr %words, i64 7
  %t4 = load i32, ptr %t3
  %t5 = getelementptr i32, ptr %words, i64 8
  %t6 = load i32, ptr %t5
  %t7 = getelementptr i32, ptr %words, i64 2
  %t8 = load i32, ptr %t7
  %t9 = getelementptr i32, ptr %words, i64 9
  %t10 = load i32, ptr %t9
  %t11 = getelementptr i32, ptr %words, i64 10
  %t12 = load i32, ptr %t11
  %t13 = getelementptr i32, ptr %words, i64 3
  %t14 = load i32, ptr %t13
  %t15 = getelementptr i32, ptr %words, i64 11
  %t16 = load i32, ptr %t15
  %t17 = getelementptr i32, ptr %words, i64 12
  %t18 = load i32, ptr %t17
  %t58 = alloca i32
  %t64 = alloca i32
  br label %start
start:
  %t19 = call i32 @llvm.umin.i32(i32 %y1, i32 %t4)
  %t20 = call i32 @llvm.umin.i32(i32 %x1, i32 %t6)
  %t21 = icmp ult i32 0, %t10
  %t22 = call i32 @llvm.umin.i32(i32 %t20, i32 %t12)
  %t23 = call i32 @llvm.umin.i32(i32 %t19, i32 %t16)
  %t24 = call i32 @llvm.umin.i32(i32 %t22, i32 %t18)
  %t25 = call i32 @llvm.umin.i32(i32 %x0, i32 %x1)
  %t26 = call i32 @llvm.umin.i32(i32 %t24, i32 %x1)
  %t27 = call i32 @llvm.umax.i32(i32 %t26, i32 %t25)
  %t28 = sub i32 %t27, %t25
  %t29 = and i32 %t28, -8
  %t30 = add i32 %t25, %t29
  %t31 = call i32 @llvm.umin.i32(i32 %y0, i32 %y1)
  %t32 = call i32 @llvm.umin.i32(i32 %t23, i32 %y1)
  %t33 = call i32 @llvm.umax.i32(i32 %t32, i32 %t31)
  %t34 = sub i32 %t33, %t31
  %t35 = and i32 %t34, -4
  %t36 = add i32 %t31, %t35
  %t37 = select i1 %t21, i32 %t36, i32 %t31
  %t38 = icmp ult i32 %x0, %x1
  %t39 = icmp ult i32 %y0, %t31
  %t40 = and i1 %t38, %t39
  br i1 %t40, label %t41, label %t42
t41:
  call void @edge(ptr %p0, ptr %p1, ptr %p2, ptr %words, ptr %frame, i32 %x0, i32 %x1, i32 %y0, i32 %t31, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t42
t42:
  %t43 = icmp ult i32 %x0, %x1
  %t44 = icmp ult i32 %t37, %y1
  %t45 = and i1 %t43, %t44
  br i1 %t45, label %t46, label %t47
t46:
  call void @edge(ptr %p0, ptr %p1, ptr %p2, ptr %words, ptr %frame, i32 %x0, i32 %x1, i32 %t37, i32 %y1, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t47
t47:
  %t48 = icmp ult i32 %x0, %t25
  %t49 = icmp ult i32 %t31, %t37
  %t50 = and i1 %t48, %t49
  br i1 %t50, label %t51, label %t52
t51:
  call void @edge(ptr %p0, ptr %p1, ptr %p2, ptr %words, ptr %frame, i32 %x0, i32 %t25, i32 %t31, i32 %t37, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t52
t52:
  %t53 = icmp ult i32 %t30, %x1
  %t54 = icmp ult i32 %t31, %t37
  %t55 = and i1 %t53, %t54
  br i1 %t55, label %t56, label %t57
t56:
  call void @edge(ptr %p0, ptr %p1, ptr %p2, ptr %words, ptr %frame, i32 %t30, i32 %x1, i32 %t31, i32 %t37, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t57
t57:
  store i32 %t25, ptr %t58
  br label %t59
t59:
  %t62 = load i32, ptr %t58
  %t63 = icmp ult i32 %t62, %t30
  br i1 %t63, label %t60, label %t61
t60:
  store i32 %t31, ptr %t64
  br label %t65
t65:
  %t68 = load i32, ptr %t64
  %t69 = icmp ult i32 %t68, %t37
  br i1 %t69, label %t66, label %t67
t66:
  %t70 = add i32 %t68, 1
  %t71 = add i32 %t68, 2
  %t72 = add i32 %t68, 3
  %t74 = mul i32 %t68, %t6
  %t75 = mul i32 %t70, %t6
  %t76 = mul i32 %t71, %t6
  %t77 = mul i32 %t72, %t6
  %t78 = add i32 %t74, %t62
  %t79 = add i32 %t75, %t62
  %t80 = add i32 %t76, %t62
  %t81 = add i32 %t77, %t62
  %t82 = zext i32 %t78 to i64
  %t83 = getelementptr float, ptr %p0, i64 %t82
  %t84 = zext i32 %t79 to i64
  %t85 = getelementptr float, ptr %p0, i64 %t84
  %t86 = zext i32 %t80 to i64
  %t87 = getelementptr float, ptr %p0, i64 %t86
  %t88 = zext i32 %t81 to i64
  %t89 = getelementptr float, ptr %p0, i64 %t88
  %t90 = load <8 x float>, ptr %t83, align 4
  %t91 = load <8 x float>, ptr %t85, align 4
  %t92 = load <8 x float>, ptr %t87, align 4
  %t93 = load <8 x float>, ptr %t89, align 4
  %t94 = mul i32 0, %t12
  %t95 = add i32 %t94, %t62
  %t96 = zext i32 %t95 to i64
  %t97 = getelementptr float, ptr %p1, i64 %t96
  %t98 = load <8 x float>, ptr %t97, align 4
  %t99 = fadd <8 x float> %t90, %t98
  %t100 = fadd <8 x float> %t91, %t98
  %t101 = fadd <8 x float> %t92, %t98
  %t102 = fadd <8 x float> %t93, %t98
  %t103 = mul i32 %t68, %t18
  %t104 = mul i32 %t70, %t18
  %t105 = mul i32 %t71, %t18
  %t106 = mul i32 %t72, %t18
  %t107 = add i32 %t103, %t62
  %t108 = add i32 %t104, %t62
  %t109 = add i32 %t105, %t62
  %t110 = add i32 %t106, %t62
  %t111 = zext i32 %t107 to i64
  %t112 = getelementptr float, ptr %p2, i64 %t111
  %t113 = zext i32 %t108 to i64
  %t114 = getelementptr float, ptr %p2, i64 %t113
  %t115 = zext i32 %t109 to i64
  %t116 = getelementptr float, ptr %p2, i64 %t115
  %t117 = zext i32 %t110 to i64
  %t118 = getelementptr float, ptr %p2, i64 %t117
  store <8 x float> %t99, ptr %t112, align 4
  store <8 x float> %t100, ptr %t114, align 4
  store <8 x float> %t101, ptr %t116, align 4
  store <8 x float> %t102, ptr %t118, align 4
  br label %t73
t73:
  %t119 = add nuw i32 %t68, 4
  store i32 %t119, ptr %t64
  br label %t65
t67:
  %t120 = add nuw i32 %t62, 8
  store i32 %t120, ptr %t58
  br label %t59
t61:
  ret void
}
