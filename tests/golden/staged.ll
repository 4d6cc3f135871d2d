define internal void @tile(ptr noalias readonly %p0, ptr noalias readonly %p1, ptr noalias %p2, ptr noalias readonly %words, ptr noalias readonly %frame, ptr noalias %scratch, i32 %x0, i32 %x1, i32 %y0, i32 %y1, i32 %z, i32 %ox, i32 %oy, i32 %oz)  #0 {
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
  %t19 = ptrtoint ptr %p2 to i64
  %t20 = sub i64 0, %t19
  %t21 = and i64 %t20, 63
  %t22 = udiv i64 %t21, 4
  %t23 = trunc i64 %t22 to i32
  %t24 = mul i32 %t18, 4
  %t25 = and i32 %t24, 63
  %t26 = icmp eq i32 %t25, 0
  %t27 = select i1 %t26, i32 %t23, i32 0
  %t66 = alloca i32
  %t96 = alloca i64
  %t114 = alloca i32
  %t122 = alloca <8 x float>
  %t123 = alloca <8 x float>
  %t124 = alloca i32
  br label %start
start:
  %t28 = sub i32 %t27, %x0
  %t29 = and i32 %t28, 15
  %t30 = call i32 @llvm.uadd.sat.i32(i32 %x0, i32 %t29)
  %t31 = sub i32 %x1, %x0
  %t32 = icmp ugt i32 %t31, 1023
  %t33 = select i1 %t32, i32 %t30, i32 %x0
  %t34 = call i32 @llvm.umin.i32(i32 %t33, i32 %x1)
  %t35 = call i32 @llvm.umin.i32(i32 %x1, i32 %x1)
  %t36 = call i32 @llvm.umax.i32(i32 %t35, i32 %t34)
  %t37 = sub i32 %t36, %t34
  %t38 = and i32 %t37, -8
  %t39 = add i32 %t34, %t38
  %t40 = call i32 @llvm.umin.i32(i32 %y0, i32 %y1)
  %t41 = call i32 @llvm.umin.i32(i32 %y1, i32 %y1)
  %t42 = call i32 @llvm.umax.i32(i32 %t41, i32 %t40)
  %t43 = sub i32 %t42, %t40
  %t44 = and i32 %t43, -2
  %t45 = add i32 %t40, %t44
  %t46 = icmp ult i32 %x0, %x1
  %t47 = icmp ult i32 %y0, %t40
  %t48 = and i1 %t46, %t47
  br i1 %t48, label %t49, label %t50
t49:
  call void @edge(ptr %p0, ptr %p1, ptr %p2, ptr %words, ptr %frame, ptr %scratch, i32 %x0, i32 %x1, i32 %y0, i32 %t40, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t50
t50:
  %t51 = icmp ult i32 %x0, %x1
  %t52 = icmp ult i32 %t45, %y1
  %t53 = and i1 %t51, %t52
  br i1 %t53, label %t54, label %t55
t54:
  call void @edge(ptr %p0, ptr %p1, ptr %p2, ptr %words, ptr %frame, ptr %scratch, i32 %x0, i32 %x1, i32 %t45, i32 %y1, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t55
t55:
  %t56 = icmp ult i32 %x0, %t34
  %t57 = icmp ult i32 %t40, %t45
  %t58 = and i1 %t56, %t57
  br i1 %t58, label %t59, label %t60
t59:
  call void @edge(ptr %p0, ptr %p1, ptr %p2, ptr %words, ptr %frame, ptr %scratch, i32 %x0, i32 %t34, i32 %t40, i32 %t45, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t60
t60:
  %t61 = icmp ult i32 %t39, %x1
  %t62 = icmp ult i32 %t40, %t45
  %t63 = and i1 %t61, %t62
  br i1 %t63, label %t64, label %t65
t64:
  call void @edge(ptr %p0, ptr %p1, ptr %p2, ptr %words, ptr %frame, ptr %scratch, i32 %t39, i32 %x1, i32 %t40, i32 %t45, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t65
t65:
  store i32 %t34, ptr %t66
  br label %t67
t67:
  %t70 = load i32, ptr %t66
  %t71 = icmp ult i32 %t70, %t39
  br i1 %t71, label %t68, label %t69
t68:
  %t72 = sub i32 %t45, %t40
  %t73 = icmp ugt i32 %t72, 4
  %t74 = icmp ne ptr %scratch, null
  %t75 = and i1 %t73, %t74
  %t76 = getelementptr i8, ptr %scratch, i64 0
  %t77 = icmp ult i32 0, %t6
  %t78 = sub i32 %t6, 0
  %t79 = zext i32 %t78 to i64
  %t80 = mul i32 0, %t12
  %t81 = add i32 %t80, %t70
  %t82 = zext i32 %t81 to i64
  %t83 = getelementptr float, ptr %p1, i64 %t82
  %t84 = add i32 0, 1
  %t85 = mul i32 %t84, %t12
  %t86 = add i32 %t85, %t70
  %t87 = zext i32 %t86 to i64
  %t88 = getelementptr float, ptr %p1, i64 %t87
  %t89 = ptrtoint ptr %t83 to i64
  %t90 = ptrtoint ptr %t88 to i64
  %t91 = sub i64 %t90, %t89
  %t92 = icmp ule i64 %t79, 16384
  %t93 = and i1 %t77, %t92
  %t94 = and i1 %t93, %t75
  %t95 = select i1 %t94, i64 %t79, i64 0
  store i64 0, ptr %t96
  br label %t97
t97:
  %t100 = load i64, ptr %t96
  %t101 = icmp ult i64 %t100, %t95
  br i1 %t101, label %t98, label %t99
t98:
  %t102 = trunc i64 %t100 to i32
  %t103 = add i32 0, %t102
  %t104 = mul i32 %t103, %t12
  %t105 = add i32 %t104, %t70
  %t106 = zext i32 %t105 to i64
  %t107 = getelementptr float, ptr %p1, i64 %t106
  %t108 = mul i64 %t100, 32
  %t109 = getelementptr i8, ptr %t76, i64 %t108
  %t110 = load <8 x float>, ptr %t107, align 4
  store <8 x float> %t110, ptr %t109, align 4
  %t111 = add nuw i64 %t100, 1
  store i64 %t111, ptr %t96
  br label %t97
t99:
  %t112 = select i1 %t94, ptr %t76, ptr %t83
  %t113 = select i1 %t94, i64 32, i64 %t91
  store i32 %t40, ptr %t114
  br label %t115
t115:
  %t118 = load i32, ptr %t114
  %t119 = icmp ult i32 %t118, %t45
  br i1 %t119, label %t116, label %t117
t116:
  %t120 = add i32 %t118, 1
  store <8 x float> splat (float 0x0000000000000000), ptr %t122
  store <8 x float> splat (float 0x0000000000000000), ptr %t123
  store i32 0, ptr %t124
  br label %t125
t125:
  %t129 = load i32, ptr %t124
  %t130 = icmp ult i32 %t129, %t6
  br i1 %t130, label %t126, label %t128
t126:
  %t131 = load <8 x float>, ptr %t122
  %t132 = load <8 x float>, ptr %t123
  %t133 = mul i32 %t118, %t6
  %t134 = mul i32 %t120, %t6
  %t135 = add i32 %t133, %t129
  %t136 = add i32 %t134, %t129
  %t137 = zext i32 %t135 to i64
  %t138 = getelementptr float, ptr %p0, i64 %t137
  %t139 = zext i32 %t136 to i64
  %t140 = getelementptr float, ptr %p0, i64 %t139
  %t141 = load float, ptr %t138, align 4
  %t142 = load float, ptr %t140, align 4
  %t143 = sub i32 %t129, 0
  %t144 = zext i32 %t143 to i64
  %t145 = mul i64 %t144, %t113
  %t146 = getelementptr i8, ptr %t112, i64 %t145
  %t147 = load <8 x float>, ptr %t146, align 4
  %t148 = insertelement <8 x float> poison, float %t141, i64 0
  %t149 = shufflevector <8 x float> %t148, <8 x float> poison, <8 x i32> zeroinitializer
  %t150 = insertelement <8 x float> poison, float %t142, i64 0
  %t151 = shufflevector <8 x float> %t150, <8 x float> poison, <8 x i32> zeroinitializer
  %t152 = fmul <8 x float> %t149, %t147
  %t153 = fmul <8 x float> %t151, %t147
  %t154 = fadd <8 x float> %t131, %t152
  %t155 = fadd <8 x float> %t132, %t153
  store <8 x float> %t154, ptr %t122
  store <8 x float> %t155, ptr %t123
  br label %t127
t127:
  %t156 = add i32 %t129, 1
  store i32 %t156, ptr %t124
  br label %t125
t128:
  %t157 = load <8 x float>, ptr %t122
  %t158 = load <8 x float>, ptr %t123
  %t159 = mul i32 %t118, %t18
  %t160 = mul i32 %t120, %t18
  %t161 = add i32 %t159, %t70
  %t162 = add i32 %t160, %t70
  %t163 = zext i32 %t161 to i64
  %t164 = getelementptr float, ptr %p2, i64 %t163
  %t165 = zext i32 %t162 to i64
  %t166 = getelementptr float, ptr %p2, i64 %t165
  store <8 x float> %t157, ptr %t164, align 4
  store <8 x float> %t158, ptr %t166, align 4
  br label %t121
t121:
  %t167 = add nuw i32 %t118, 2
  store i32 %t167, ptr %t114
  br label %t115
t117:
  %t168 = add nuw i32 %t70, 8
  store i32 %t168, ptr %t66
  br label %t67
t69:
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
  %words = getelementptr i8, ptr %frame, i64 56
  %t4 = getelementptr i32, ptr %words, i64 4
  %t5 = load i32, ptr %t4
  %t6 = getelementptr i32, ptr %words, i64 5
  %t7 = load i32, ptr %t6
  %t8 = getelementptr i32, ptr %words, i64 6
  %t9 = load i32, ptr %t8
  %t10 = alloca i64
  %t16 = getelementptr i8, ptr %frame, i64 12
  %t17 = load i32, ptr %t16
  %t21 = getelementptr i8, ptr %frame, i64 0
  %t22 = load i32, ptr %t21
  %t30 = getelementptr i8, ptr %frame, i64 16
  %t31 = load i32, ptr %t30
  %t35 = getelementptr i8, ptr %frame, i64 4
  %t36 = load i32, ptr %t35
  %t44 = getelementptr i8, ptr %frame, i64 20
  %t45 = load i32, ptr %t44
  %t47 = getelementptr i8, ptr %frame, i64 8
  %t48 = load i32, ptr %t47
  %t56 = alloca i32
  br label %start
start:
  %scratch = call noalias ptr @malloc(i64 524288)
  store i64 %first, ptr %t10
  br label %t11
t11:
  %t14 = load i64, ptr %t10
  %t15 = icmp ult i64 %t14, %last
  br i1 %t15, label %t12, label %t13
t12:
  %t18 = zext i32 %t17 to i64
  %t19 = urem i64 %t14, %t18
  %t20 = udiv i64 %t14, %t18
  %t23 = zext i32 %t22 to i64
  %t24 = mul i64 %t19, %t23
  %t25 = add i64 %t24, %t23
  %t26 = zext i32 %t5 to i64
  %t27 = call i64 @llvm.umin.i64(i64 %t25, i64 %t26)
  %t28 = trunc i64 %t24 to i32
  %t29 = trunc i64 %t27 to i32
  %t32 = zext i32 %t31 to i64
  %t33 = urem i64 %t20, %t32
  %t34 = udiv i64 %t20, %t32
  %t37 = zext i32 %t36 to i64
  %t38 = mul i64 %t33, %t37
  %t39 = add i64 %t38, %t37
  %t40 = zext i32 %t7 to i64
  %t41 = call i64 @llvm.umin.i64(i64 %t39, i64 %t40)
  %t42 = trunc i64 %t38 to i32
  %t43 = trunc i64 %t41 to i32
  %t46 = zext i32 %t45 to i64
  %t49 = zext i32 %t48 to i64
  %t50 = mul i64 %t34, %t49
  %t51 = add i64 %t50, %t49
  %t52 = zext i32 %t9 to i64
  %t53 = call i64 @llvm.umin.i64(i64 %t51, i64 %t52)
  %t54 = trunc i64 %t50 to i32
  %t55 = trunc i64 %t53 to i32
  store i32 %t54, ptr %t56
  br label %t57
t57:
  %t60 = load i32, ptr %t56
  %t61 = icmp ult i32 %t60, %t55
  br i1 %t61, label %t58, label %t59
t58:
  call void @tile(ptr %p0, ptr %p1, ptr %p2, ptr %words, ptr %frame, ptr %scratch, i32 %t28, i32 %t29, i32 %t42, i32 %t43, i32 %t60, i32 %t28, i32 %t42, i32 %t54)
  %t62 = call i32 @llvm.uadd.sat.i32(i32 %t60, i32 1)
  store i32 %t62, ptr %t56
  br label %t57
t59:
  %t63 = add nuw i64 %t14, 1
  store i64 %t63, ptr %t10
  br label %t11
t13:
  call void @free(ptr %scratch)
  ret void
}
