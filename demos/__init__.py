"""Short scripts that read like textbook examples; `quirk demo NAME` or `python demos/NAME.py` runs one."""

DEMOS = {
    "double-pendulum": "two hinged rods swing chaotically under gravity",
    "four-bar": "a motor drives a crank-rocker linkage; its coupler point draws a curve",
    "bricard": "an overconstrained loop of six hinges moves all the same",
    "door": "two hinges on one line: ten rows of rank five, and loads that are unique only in sum",
    "tennis-racket": "a body spun about its intermediate axis flips over and over",
    "heavy-top": "a fast top precesses and nods under gravity",
    "flyball-governor": "swinging balls lift a sleeve as the spindle speeds up",
    "coupler-curve": "Hoeken's linkage: a coupler point moves along a straight line for half of a turn",
    "quick-return": "the ram of a shaping machine cuts slowly and returns fast",
    "planetary-gears": "three planets between a driven sun and a fixed ring turn their carrier",
    "slider-crank": "torque and bearing loads of an engine at constant speed, by inverse dynamics",
    "cam-follower": "a follower moves along a spline of degree 5; its spring keeps it on the cam, up to some speed",
    "counting-pendulum": "a pendulum counts its passages through the vertical, and stops after ten",
    "cut-linkage": "the rocker of a four-bar linkage breaks off at a load",
    "train-of-boxes": "a tug pulls ever harder; the latches between boxes give way one after the other",
    "docking": "two modules latch onto a hinge, fold and part again; momentum stays what it was",
    "bouncing-ball": "infinitely many bounces in a finite time, then rest",
    "geneva-drive": "a pin takes a wheel along by a quarter in each turn of a crank, and else the wheel is locked",
    "ratchet": "a pawl lets a wheel turn one way alone",
    "falling-chain": "a chain is cut off its hook and falls on a smooth floor",
}
