// Search in pages that are opened as files: there browsers start no workers, so that a script runs in a hidden frame
// instead, with the messages of a worker.

if (location.protocol === 'file:') {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.body.appendChild(document.createElement('iframe'));
      frame.hidden = true;
      frame.title = 'search';
      this.inside = frame.contentWindow;
      this.inside.postMessage = data => this.dispatchEvent(new MessageEvent('message', { data }));
      const script = this.inside.document.createElement('script');
      script.src = new URL(address, location.href).href;
      this.ready = new Promise(resolve => { script.onload = resolve; });
      this.inside.document.head.append(script);
      this.addEventListener('message', event => { if (this.onmessage) this.onmessage(event); });
    }

    async postMessage(data) {
      await this.ready;
      this.inside.dispatchEvent(new this.inside.MessageEvent('message', { data }));
    }
  };
}

addEventListener('DOMContentLoaded', () => {  // the theme gives this dialog no name
  document.querySelector('.md-search').setAttribute('aria-label', 'Search');
});
