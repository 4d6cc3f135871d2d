define internal void @tile(ptr noalias %p0, ptr noalias readonly %words, ptr noalias readonly %frame, i32 %x0, i32 %x1, i32 %y0, i32 %y1, i32 %z, i32 %ox, i32 %oy, i32 %oz)  #0 {
entry:
  %t1 = getelementptr i32, ptr %words, i64 1
  %t2 = load i32, ptr %t1
  %t4 = ptrtoint ptr %p0 to i64
  %t5 = sub i64 0, %t4
  %t6 = and i64 %t5, 63
  %t7 = udiv i64 %t6, 4
  %t8 = trunc i64 %t7 to i32
  %t41 = alloca i32
  %t47 = alloca i32
  %t57 = alloca <8 x i32>
  %t58 = alloca <8 x i1>
  br label %start
start:
  %t3 = call i32 @llvm.umin.i32(i32 %x1, i32 %t2)
  %t9 = sub i32 %t8, %x0
  %t10 = and i32 %t9, 15
  %t11 = call i32 @llvm.uadd.sat.i32(i32 %x0, i32 %t10)
  %t12 = call i32 @llvm.umin.i32(i32 %t11, i32 %x1)
  %t13 = call i32 @llvm.umin.i32(i32 %t3, i32 %x1)
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
  call void @edge(ptr %p0, ptr %words, ptr %frame, i32 %x0, i32 %x1, i32 %y0, i32 %t18, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t25
t25:
  %t26 = icmp ult i32 %x0, %x1
  %t27 = icmp ult i32 %t20, %y1
  %t28 = and i1 %t26, %t27
  br i1 %t28, label %t29, label %t30
t29:
  call void @edge(ptr %p0, ptr %words, ptr %frame, i32 %x0, i32 %x1, i32 %t20, i32 %y1, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t30
t30:
  %t31 = icmp ult i32 %x0, %t12
  %t32 = icmp ult i32 %t18, %t20
  %t33 = and i1 %t31, %t32
  br i1 %t33, label %t34, label %t35
t34:
  call void @edge(ptr %p0, ptr %words, ptr %frame, i32 %x0, i32 %t12, i32 %t18, i32 %t20, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t35
t35:
  %t36 = icmp ult i32 %t17, %x1
  %t37 = icmp ult i32 %t18, %t20
  %t38 = and i1 %t36, %t37
  br i1 %t38, label %t39, label %t40
t39:
  call void @edge(ptr %p0, ptr %words, ptr %frame, i32 %t17, i32 %x1, i32 %t18, i32 %t20, i32 %z, i32 %ox, i32 %oy, i32 %oz)
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
  %t54 = zext i32 %t51 to i64
  %t55 = getelementptr i32, ptr %p0, i64 %t54
  %t56 = load <8 x i32>, ptr %t55, align 4
  store <8 x i32> %t56, ptr %t57
  store <8 x i1> splat (i1 true), ptr %t58
  br label %t59
t59:
  %t62 = load <8 x i1>, ptr %t58
  %t63 = load <8 x i32>, ptr %t57
  %t64 = icmp ult <8 x i32> %t63, splat (i32 100)
  %t65 = and <8 x i1> %t62, %t64
  store <8 x i1> %t65, ptr %t58
  %t66 = call i1 @llvm.vector.reduce.or.v8i1(<8 x i1> %t65)
  br i1 %t66, label %t60, label %t61
t60:
  %t67 = load <8 x i32>, ptr %t57
  %t68 = mul <8 x i32> %t67, splat (i32 3)
  %t69 = add <8 x i32> %t68, splat (i32 1)
  %t70 = load <8 x i32>, ptr %t57
  %t71 = select <8 x i1> %t65, <8 x i32> %t69, <8 x i32> %t70
  store <8 x i32> %t71, ptr %t57
  br label %t59
t61:
  %t72 = load <8 x i32>, ptr %t57
  %t73 = zext i32 %t51 to i64
  %t74 = getelementptr i32, ptr %p0, i64 %t73
  store <8 x i32> %t72, ptr %t74, align 4
  br label %t53
t53:
  %t75 = add nuw i32 %t51, 8
  store i32 %t75, ptr %t47
  br label %t48
t50:
  %t76 = add nuw i32 %t45, 1
  store i32 %t76, ptr %t41
  br label %t42
t44:
  ret void
}
