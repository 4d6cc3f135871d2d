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
  %t25 = ptrtoint ptr %p2 to i64
  %t26 = sub i64 0, %t25
  %t27 = and i64 %t26, 63
  %t28 = udiv i64 %t27, 4
  %t29 = trunc i64 %t28 to i32
  %t30 = mul i32 %t18, 4
  %t31 = and i32 %t30, 63
  %t32 = icmp eq i32 %t31, 0
  %t33 = select i1 %t32, i32 %t29, i32 0
  %t73 = alloca i32
  %t79 = alloca i32
  br label %start
start:
  %t19 = call i32 @llvm.umin.i32(i32 %y1, i32 %t4)
  %t20 = call i32 @llvm.umin.i32(i32 %x1, i32 %t6)
  %t21 = icmp ult i32 0, %t10
  %t22 = call i32 @llvm.umin.i32(i32 %t20, i32 %t12)
  %t23 = call i32 @llvm.umin.i32(i32 %t19, i32 %t16)
  %t24 = call i32 @llvm.umin.i32(i32 %t22, i32 %t18)
  %t34 = sub i32 %t33, %x0
  %t35 = and i32 %t34, 15
  %t36 = call i32 @llvm.uadd.sat.i32(i32 %x0, i32 %t35)
  %t37 = sub i32 %x1, %x0
  %t38 = icmp ugt i32 %t37, 1023
  %t39 = select i1 %t38, i32 %t36, i32 %x0
  %t40 = call i32 @llvm.umin.i32(i32 %t39, i32 %x1)
  %t41 = call i32 @llvm.umin.i32(i32 %t24, i32 %x1)
  %t42 = call i32 @llvm.umax.i32(i32 %t41, i32 %t40)
  %t43 = sub i32 %t42, %t40
  %t44 = and i32 %t43, -8
  %t45 = add i32 %t40, %t44
  %t46 = call i32 @llvm.umin.i32(i32 %y0, i32 %y1)
  %t47 = call i32 @llvm.umin.i32(i32 %t23, i32 %y1)
  %t48 = call i32 @llvm.umax.i32(i32 %t47, i32 %t46)
  %t49 = sub i32 %t48, %t46
  %t50 = and i32 %t49, -4
  %t51 = add i32 %t46, %t50
  %t52 = select i1 %t21, i32 %t51, i32 %t46
  %t53 = icmp ult i32 %x0, %x1
  %t54 = icmp ult i32 %y0, %t46
  %t55 = and i1 %t53, %t54
  br i1 %t55, label %t56, label %t57
t56:
  call void @edge(ptr %p0, ptr %p1, ptr %p2, ptr %words, ptr %frame, i32 %x0, i32 %x1, i32 %y0, i32 %t46, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t57
t57:
  %t58 = icmp ult i32 %x0, %x1
  %t59 = icmp ult i32 %t52, %y1
  %t60 = and i1 %t58, %t59
  br i1 %t60, label %t61, label %t62
t61:
  call void @edge(ptr %p0, ptr %p1, ptr %p2, ptr %words, ptr %frame, i32 %x0, i32 %x1, i32 %t52, i32 %y1, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t62
t62:
  %t63 = icmp ult i32 %x0, %t40
  %t64 = icmp ult i32 %t46, %t52
  %t65 = and i1 %t63, %t64
  br i1 %t65, label %t66, label %t67
t66:
  call void @edge(ptr %p0, ptr %p1, ptr %p2, ptr %words, ptr %frame, i32 %x0, i32 %t40, i32 %t46, i32 %t52, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t67
t67:
  %t68 = icmp ult i32 %t45, %x1
  %t69 = icmp ult i32 %t46, %t52
  %t70 = and i1 %t68, %t69
  br i1 %t70, label %t71, label %t72
t71:
  call void @edge(ptr %p0, ptr %p1, ptr %p2, ptr %words, ptr %frame, i32 %t45, i32 %x1, i32 %t46, i32 %t52, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t72
t72:
  store i32 %t40, ptr %t73
  br label %t74
t74:
  %t77 = load i32, ptr %t73
  %t78 = icmp ult i32 %t77, %t45
  br i1 %t78, label %t75, label %t76
t75:
  store i32 %t46, ptr %t79
  br label %t80
t80:
  %t83 = load i32, ptr %t79
  %t84 = icmp ult i32 %t83, %t52
  br i1 %t84, label %t81, label %t82
t81:
  %t85 = add i32 %t83, 1
  %t86 = add i32 %t83, 2
  %t87 = add i32 %t83, 3
  %t89 = mul i32 %t83, %t6
  %t90 = mul i32 %t85, %t6
  %t91 = mul i32 %t86, %t6
  %t92 = mul i32 %t87, %t6
  %t93 = add i32 %t89, %t77
  %t94 = add i32 %t90, %t77
  %t95 = add i32 %t91, %t77
  %t96 = add i32 %t92, %t77
  %t97 = zext i32 %t93 to i64
  %t98 = getelementptr float, ptr %p0, i64 %t97
  %t99 = zext i32 %t94 to i64
  %t100 = getelementptr float, ptr %p0, i64 %t99
  %t101 = zext i32 %t95 to i64
  %t102 = getelementptr float, ptr %p0, i64 %t101
  %t103 = zext i32 %t96 to i64
  %t104 = getelementptr float, ptr %p0, i64 %t103
  %t105 = load <8 x float>, ptr %t98, align 4
  %t106 = load <8 x float>, ptr %t100, align 4
  %t107 = load <8 x float>, ptr %t102, align 4
  %t108 = load <8 x float>, ptr %t104, align 4
  %t109 = mul i32 0, %t12
  %t110 = add i32 %t109, %t77
  %t111 = zext i32 %t110 to i64
  %t112 = getelementptr float, ptr %p1, i64 %t111
  %t113 = load <8 x float>, ptr %t112, align 4
  %t114 = fadd <8 x float> %t105, %t113
  %t115 = fadd <8 x float> %t106, %t113
  %t116 = fadd <8 x float> %t107, %t113
  %t117 = fadd <8 x float> %t108, %t113
  %t118 = mul i32 %t83, %t18
  %t119 = mul i32 %t85, %t18
  %t120 = mul i32 %t86, %t18
  %t121 = mul i32 %t87, %t18
  %t122 = add i32 %t118, %t77
  %t123 = add i32 %t119, %t77
  %t124 = add i32 %t120, %t77
  %t125 = add i32 %t121, %t77
  %t126 = zext i32 %t122 to i64
  %t127 = getelementptr float, ptr %p2, i64 %t126
  %t128 = zext i32 %t123 to i64
  %t129 = getelementptr float, ptr %p2, i64 %t128
  %t130 = zext i32 %t124 to i64
  %t131 = getelementptr float, ptr %p2, i64 %t130
  %t132 = zext i32 %t125 to i64
  %t133 = getelementptr float, ptr %p2, i64 %t132
  store <8 x float> %t114, ptr %t127, align 4
  store <8 x float> %t115, ptr %t129, align 4
  store <8 x float> %t116, ptr %t131, align 4
  store <8 x float> %t117, ptr %t133, align 4
  br label %t88
t88:
  %t134 = add nuw i32 %t83, 4
  store i32 %t134, ptr %t79
  br label %t80
t82:
  %t135 = add nuw i32 %t77, 8
  store i32 %t135, ptr %t73
  br label %t74
t76:
  ret void
}
