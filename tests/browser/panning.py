"""Moves a graph in a browser as a hand does."""

FRAMES_WHILE_PANNING = """async frame => {
    const canvas = frame.querySelector("canvas");
    const at = (x) => ({clientX: x, clientY: 300, pointerId: 1, bubbles: true});
    const send = (type, x) => canvas.dispatchEvent(new PointerEvent(type, at(x)));
    canvas.setPointerCapture = () => {};
    send("pointerdown", 300);
    const began = performance.now();
    let frames = 0;
    while (performance.now() - began < 2000) {
        send("pointermove", 300 + frames % 200);
        await new Promise(requestAnimationFrame);
        frames++;
    }
    send("pointerup", 300);
    return frames / (performance.now() - began) * 1000;
}"""
"""For the element of a graph: drag it for two seconds, and return how many frames a second were drawn."""
