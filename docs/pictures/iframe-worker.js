// The search of the site where its pages are opened from disk: a browser lets no page of file:// start a worker, so the script
// of the theme's search runs in a hidden frame, which looks like a worker to the page. The theme asks for `IFrameWorker` in the
// page to know that it does, and its plugin "offline" for this name of the file, or it would load a script from elsewhere.
if (location.protocol === "file:") {
  class IFrameWorker extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.documentElement.append(frame);
      this.inside = frame.contentWindow;
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.inside.importScripts = (...addresses) => Promise.all(addresses.map((each) => this.load(each)));
      this.begun = this.load(address);
    }
    load(address) {
      return new Promise((done, failed) => {
        const script = this.inside.document.createElement("script");
        script.src = address;
        script.onload = done;
        script.onerror = failed;
        this.inside.document.head.append(script);
      });
    }
    // What is sent before the script has begun waits for it.
    postMessage(data) {
      this.begun.then(() => this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data })));
    }
    terminate() {
      this.inside.frameElement.remove();
    }
  }
  window.IFrameWorker = IFrameWorker;
  window.Worker = IFrameWorker;
}
