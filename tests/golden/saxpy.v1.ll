define internal void @tile(ptr readonly %p0, ptr readonly %p1, ptr %p2, float %p3, ptr noalias readonly %words, ptr noalias readonly %frame, i32 %x0, i32 %x1, i32 %y0, i32 %y1, i32 %z, i32 %ox, i32 %oy, i32 %oz)  #0 {
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
  %t20 = zext i32 %t17 to i64
  %t21 = getelementptr float, ptr %p0, i64 %t20
  %t22 = load float, ptr %t21, align 4
  %t23 = fmul float %p3, %t22
  %t24 = zext i32 %t17 to i64
  %t25 = getelementptr float, ptr %p1, i64 %t24
  %t26 = load float, ptr %t25, align 4
  %t27 = fadd float %t23, %t26
  %t28 = zext i32 %t17 to i64
  %t29 = getelementptr float, ptr %p2, i64 %t28
  store float %t27, ptr %t29, align 4
  br label %t19
t19:
  %t30 = add nuw i32 %t17, 1
  store i32 %t30, ptr %t13
  br label %t14
t16:
  %t31 = add nuw i32 %t11, 1
  store i32 %t31, ptr %t7
  br label %t8
t10:
  ret void
}
