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
  %t51 = alloca i32
  %t81 = alloca i64
  %t99 = alloca i32
  %t107 = alloca <8 x float>
  %t108 = alloca <8 x float>
  %t109 = alloca i32
  br label %start
start:
  %t19 = call i32 @llvm.umin.i32(i32 %x0, i32 %x1)
  %t20 = call i32 @llvm.umin.i32(i32 %x1, i32 %x1)
  %t21 = call i32 @llvm.umax.i32(i32 %t20, i32 %t19)
  %t22 = sub i32 %t21, %t19
  %t23 = and i32 %t22, -8
  %t24 = add i32 %t19, %t23
  %t25 = call i32 @llvm.umin.i32(i32 %y0, i32 %y1)
  %t26 = call i32 @llvm.umin.i32(i32 %y1, i32 %y1)
  %t27 = call i32 @llvm.umax.i32(i32 %t26, i32 %t25)
  %t28 = sub i32 %t27, %t25
  %t29 = and i32 %t28, -2
  %t30 = add i32 %t25, %t29
  %t31 = icmp ult i32 %x0, %x1
  %t32 = icmp ult i32 %y0, %t25
  %t33 = and i1 %t31, %t32
  br i1 %t33, label %t34, label %t35
t34:
  call void @edge(ptr %p0, ptr %p1, ptr %p2, ptr %words, ptr %frame, ptr %scratch, i32 %x0, i32 %x1, i32 %y0, i32 %t25, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t35
t35:
  %t36 = icmp ult i32 %x0, %x1
  %t37 = icmp ult i32 %t30, %y1
  %t38 = and i1 %t36, %t37
  br i1 %t38, label %t39, label %t40
t39:
  call void @edge(ptr %p0, ptr %p1, ptr %p2, ptr %words, ptr %frame, ptr %scratch, i32 %x0, i32 %x1, i32 %t30, i32 %y1, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t40
t40:
  %t41 = icmp ult i32 %x0, %t19
  %t42 = icmp ult i32 %t25, %t30
  %t43 = and i1 %t41, %t42
  br i1 %t43, label %t44, label %t45
t44:
  call void @edge(ptr %p0, ptr %p1, ptr %p2, ptr %words, ptr %frame, ptr %scratch, i32 %x0, i32 %t19, i32 %t25, i32 %t30, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t45
t45:
  %t46 = icmp ult i32 %t24, %x1
  %t47 = icmp ult i32 %t25, %t30
  %t48 = and i1 %t46, %t47
  br i1 %t48, label %t49, label %t50
t49:
  call void @edge(ptr %p0, ptr %p1, ptr %p2, ptr %words, ptr %frame, ptr %scratch, i32 %t24, i32 %x1, i32 %t25, i32 %t30, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t50
t50:
  store i32 %t19, ptr %t51
  br label %t52
t52:
  %t55 = load i32, ptr %t51
  %t56 = icmp ult i32 %t55, %t24
  br i1 %t56, label %t53, label %t54
t53:
  %t57 = sub i32 %t30, %t25
  %t58 = icmp ugt i32 %t57, 4
  %t59 = icmp ne ptr %scratch, null
  %t60 = and i1 %t58, %t59
  %t61 = getelementptr i8, ptr %scratch, i64 0
  %t62 = icmp ult i32 0, %t6
  %t63 = sub i32 %t6, 0
  %t64 = zext i32 %t63 to i64
  %t65 = mul i32 0, %t12
  %t66 = add i32 %t65, %t55
  %t67 = zext i32 %t66 to i64
  %t68 = getelementptr float, ptr %p1, i64 %t67
  %t69 = add i32 0, 1
  %t70 = mul i32 %t69, %t12
  %t71 = add i32 %t70, %t55
  %t72 = zext i32 %t71 to i64
  %t73 = getelementptr float, ptr %p1, i64 %t72
  %t74 = ptrtoint ptr %t68 to i64
  %t75 = ptrtoint ptr %t73 to i64
  %t76 = sub i64 %t75, %t74
  %t77 = icmp ule i64 %t64, 16384
  %t78 = and i1 %t62, %t77
  %t79 = and i1 %t78, %t60
  %t80 = select i1 %t79, i64 %t64, i64 0
  store i64 0, ptr %t81
  br label %t82
t82:
  %t85 = load i64, ptr %t81
  %t86 = icmp ult i64 %t85, %t80
  br i1 %t86, label %t83, label %t84
t83:
  %t87 = trunc i64 %t85 to i32
  %t88 = add i32 0, %t87
  %t89 = mul i32 %t88, %t12
  %t90 = add i32 %t89, %t55
  %t91 = zext i32 %t90 to i64
  %t92 = getelementptr float, ptr %p1, i64 %t91
  %t93 = mul i64 %t85, 32
  %t94 = getelementptr i8, ptr %t61, i64 %t93
  %t95 = load <8 x float>, ptr %t92, align 4
  store <8 x float> %t95, ptr %t94, align 4
  %t96 = add nuw i64 %t85, 1
  store i64 %t96, ptr %t81
  br label %t82
t84:
  %t97 = select i1 %t79, ptr %t61, ptr %t68
  %t98 = select i1 %t79, i64 32, i64 %t76
  store i32 %t25, ptr %t99
  br label %t100
t100:
  %t103 = load i32, ptr %t99
  %t104 = icmp ult i32 %t103, %t30
  br i1 %t104, label %t101, label %t102
t101:
  %t105 = add i32 %t103, 1
  store <8 x float> splat (float 0x0000000000000000), ptr %t107
  store <8 x float> splat (float 0x0000000000000000), ptr %t108
  store i32 0, ptr %t109
  br label %t110
t110:
  %t114 = load i32, ptr %t109
  %t115 = icmp ult i32 %t114, %t6
  br i1 %t115, label %t111, label %t113
t111:
  %t116 = load <8 x float>, ptr %t107
  %t117 = load <8 x float>, ptr %t108
  %t118 = mul i32 %t103, %t6
  %t119 = mul i32 %t105, %t6
  %t120 = add i32 %t118, %t114
  %t121 = add i32 %t119, %t114
  %t122 = zext i32 %t120 to i64
  %t123 = getelementptr float, ptr %p0, i64 %t122
  %t124 = zext i32 %t121 to i64
  %t125 = getelementptr float, ptr %p0, i64 %t124
  %t126 = load float, ptr %t123, align 4
  %t127 = load float, ptr %t125, align 4
  %t128 = sub i32 %t114, 0
  %t129 = zext i32 %t128 to i64
  %t130 = mul i64 %t129, %t98
  %t131 = getelementptr i8, ptr %t97, i64 %t130
  %t132 = load <8 x float>, ptr %t131, align 4
  %t133 = insertelement <8 x float> poison, float %t126, i64 0
  %t134 = shufflevector <8 x float> %t133, <8 x float> poison, <8 x i32> zeroinitializer
  %t135 = insertelement <8 x float> poison, float %t127, i64 0
  %t136 = shufflevector <8 x float> %t135, <8 x float> poison, <8 x i32> zeroinitializer
  %t137 = fmul <8 x float> %t134, %t132
  %t138 = fmul <8 x float> %t136, %t132
  %t139 = fadd <8 x float> %t116, %t137
  %t140 = fadd <8 x float> %t117, %t138
  store <8 x float> %t139, ptr %t107
  store <8 x float> %t140, ptr %t108
  br label %t112
t112:
  %t141 = add i32 %t114, 1
  store i32 %t141, ptr %t109
  br label %t110
t113:
  %t142 = load <8 x float>, ptr %t107
  %t143 = load <8 x float>, ptr %t108
  %t144 = mul i32 %t103, %t18
  %t145 = mul i32 %t105, %t18
  %t146 = add i32 %t144, %t55
  %t147 = add i32 %t145, %t55
  %t148 = zext i32 %t146 to i64
  %t149 = getelementptr float, ptr %p2, i64 %t148
  %t150 = zext i32 %t147 to i64
  %t151 = getelementptr float, ptr %p2, i64 %t150
  store <8 x float> %t142, ptr %t149, align 4
  store <8 x float> %t143, ptr %t151, align 4
  br label %t106
t106:
  %t152 = add nuw i32 %t103, 2
  store i32 %t152, ptr %t99
  br label %t100
t102:
  %t153 = add nuw i32 %t55, 8
  store i32 %t153, ptr %t51
  br label %t52
t54:
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
