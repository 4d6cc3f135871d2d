define internal void @tile(ptr readonly %p0, ptr %p1, ptr noalias readonly %words, ptr noalias readonly %frame, i32 %x0, i32 %x1, i32 %y0, i32 %y1, i32 %z, i32 %ox, i32 %oy, i32 %oz)  #0 {
entry:
  %t1 = getelementptr i32, ptr %words, i64 1
  %t2 = load i32, ptr %t1
  %t3 = getelementptr i32, ptr %words, i64 2
  %t4 = load i32, ptr %t3
  %t7 = ptrtoint ptr %p1 to i64
  %t8 = sub i64 0, %t7
  %t9 = and i64 %t8, 63
  %t10 = udiv i64 %t9, 2
  %t11 = trunc i64 %t10 to i32
  %t44 = alloca i32
  %t50 = alloca i32
  br label %start
start:
  %t5 = call i32 @llvm.umin.i32(i32 %x1, i32 %t2)
  %t6 = call i32 @llvm.umin.i32(i32 %t5, i32 %t4)
  %t12 = sub i32 %t11, %x0
  %t13 = and i32 %t12, 31
  %t14 = call i32 @llvm.uadd.sat.i32(i32 %x0, i32 %t13)
  %t15 = call i32 @llvm.umin.i32(i32 %t14, i32 %x1)
  %t16 = call i32 @llvm.umin.i32(i32 %t6, i32 %x1)
  %t17 = call i32 @llvm.umax.i32(i32 %t16, i32 %t15)
  %t18 = sub i32 %t17, %t15
  %t19 = and i32 %t18, -4
  %t20 = add i32 %t15, %t19
  %t21 = call i32 @llvm.umin.i32(i32 %y0, i32 %y1)
  %t22 = call i32 @llvm.umin.i32(i32 %y1, i32 %y1)
  %t23 = call i32 @llvm.umax.i32(i32 %t22, i32 %t21)
  %t24 = icmp ult i32 %x0, %x1
  %t25 = icmp ult i32 %y0, %t21
  %t26 = and i1 %t24, %t25
  br i1 %t26, label %t27, label %t28
t27:
  call void @edge(ptr %p0, ptr %p1, ptr %words, ptr %frame, i32 %x0, i32 %x1, i32 %y0, i32 %t21, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t28
t28:
  %t29 = icmp ult i32 %x0, %x1
  %t30 = icmp ult i32 %t23, %y1
  %t31 = and i1 %t29, %t30
  br i1 %t31, label %t32, label %t33
t32:
  call void @edge(ptr %p0, ptr %p1, ptr %words, ptr %frame, i32 %x0, i32 %x1, i32 %t23, i32 %y1, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t33
t33:
  %t34 = icmp ult i32 %x0, %t15
  %t35 = icmp ult i32 %t21, %t23
  %t36 = and i1 %t34, %t35
  br i1 %t36, label %t37, label %t38
t37:
  call void @edge(ptr %p0, ptr %p1, ptr %words, ptr %frame, i32 %x0, i32 %t15, i32 %t21, i32 %t23, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t38
t38:
  %t39 = icmp ult i32 %t20, %x1
  %t40 = icmp ult i32 %t21, %t23
  %t41 = and i1 %t39, %t40
  br i1 %t41, label %t42, label %t43
t42:
  call void @edge(ptr %p0, ptr %p1, ptr %words, ptr %frame, i32 %t20, i32 %x1, i32 %t21, i32 %t23, i32 %z, i32 %ox, i32 %oy, i32 %oz)
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
  %t58 = getelementptr i16, ptr %p0, i64 %t57
  %t59 = load <4 x i16>, ptr %t58, align 2
  %t60 = zext <4 x i16> %t59 to <4 x i32>
  %t61 = and <4 x i32> %t60, splat (i32 32768)
  %t62 = shl <4 x i32> %t61, splat (i32 16)
  %t63 = and <4 x i32> %t60, splat (i32 32767)
  %t64 = shl <4 x i32> %t63, splat (i32 13)
  %t65 = add <4 x i32> %t64, splat (i32 939524096)
  %t66 = or <4 x i32> %t64, splat (i32 2139095040)
  %t67 = uitofp <4 x i32> %t63 to <4 x float>
  %t68 = fmul <4 x float> %t67, splat (float 0x3E70000000000000)
  %t69 = icmp uge <4 x i32> %t63, splat (i32 31744)
  %t70 = select <4 x i1> %t69, <4 x i32> %t66, <4 x i32> %t65
  %t71 = icmp ult <4 x i32> %t63, splat (i32 1024)
  %t72 = bitcast <4 x float> %t68 to <4 x i32>
  %t73 = select <4 x i1> %t71, <4 x i32> %t72, <4 x i32> %t70
  %t74 = or <4 x i32> %t62, %t73
  %t75 = bitcast <4 x i32> %t74 to <4 x float>
  %t76 = fneg <4 x float> %t75
  %t77 = bitcast <4 x float> %t76 to <4 x i32>
  %t78 = lshr <4 x i32> %t77, splat (i32 16)
  %t79 = and <4 x i32> %t78, splat (i32 32768)
  %t80 = and <4 x i32> %t77, splat (i32 2147483647)
  %t81 = bitcast <4 x i32> %t80 to <4 x float>
  %t82 = fmul <4 x float> %t81, splat (float 0x4170000000000000)
  %t83 = call <4 x float> @llvm.roundeven.v4f32(<4 x float> %t82)
  %t84 = call <4 x i32> @llvm.fptoui.sat.v4i32.v4f32(<4 x float> %t83)
  %t85 = sub <4 x i32> %t80, splat (i32 939524096)
  %t86 = lshr <4 x i32> %t85, splat (i32 13)
  %t87 = and <4 x i32> %t86, splat (i32 1)
  %t88 = add <4 x i32> %t85, splat (i32 4095)
  %t89 = add <4 x i32> %t88, %t87
  %t90 = lshr <4 x i32> %t89, splat (i32 13)
  %t91 = icmp ult <4 x i32> %t80, splat (i32 947912704)
  %t92 = select <4 x i1> %t91, <4 x i32> %t84, <4 x i32> %t90
  %t93 = icmp uge <4 x i32> %t80, splat (i32 1199566848)
  %t94 = select <4 x i1> %t93, <4 x i32> splat (i32 31744), <4 x i32> %t92
  %t95 = icmp ugt <4 x i32> %t80, splat (i32 2139095040)
  %t96 = select <4 x i1> %t95, <4 x i32> splat (i32 32256), <4 x i32> %t94
  %t97 = or <4 x i32> %t79, %t96
  %t98 = trunc <4 x i32> %t97 to <4 x i16>
  %t99 = zext i32 %t54 to i64
  %t100 = getelementptr i16, ptr %p1, i64 %t99
  store <4 x i16> %t98, ptr %t100, align 2
  br label %t56
t56:
  %t101 = add nuw i32 %t54, 4
  store i32 %t101, ptr %t50
  br label %t51
t53:
  %t102 = add nuw i32 %t48, 1
  store i32 %t102, ptr %t44
  br label %t45
t47:
  ret void
}
