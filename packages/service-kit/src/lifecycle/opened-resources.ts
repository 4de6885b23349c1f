/**
 * An AsyncDisposableStack that shows what it is closing, so that the log can name the resource on which a stop hangs.
 * The name is the resource's `name`, else its class, with the line of code that opened it.
 */
export class OpenedResources extends AsyncDisposableStack {
  #opened = 0;
  #closing: string | undefined;

  /** The resource that is being closed now. */
  get closing(): string | undefined {
    return this.#closing;
  }

  override use<T extends AsyncDisposable | Disposable | null | undefined>(value: T): T {
    if (value === null || value === undefined) return value;
    const name = this.#nameOf(value);
    const inner = new AsyncDisposableStack();
    inner.use(value);
    super.defer(() => this.#close(name, () => inner.disposeAsync()));
    return value;
  }

  override adopt<T>(value: T, onDispose: (value: T) => PromiseLike<void> | void): T {
    const name = this.#nameOf(value);
    super.defer(() => this.#close(name, () => onDispose(value)));
    return value;
  }

  override defer(onDispose: () => PromiseLike<void> | void): void {
    const name = this.#nameOf(onDispose);
    super.defer(() => this.#close(name, onDispose));
  }

  async #close(name: string, dispose: () => PromiseLike<void> | void): Promise<void> {
    this.#closing = name;
    try {
      await dispose();
    } catch (cause) {
      throw new Error(`failed to close: ${name}`, { cause });
    }
    this.#closing = undefined;
  }

  #nameOf(value: unknown): string {
    this.#opened += 1;
    const own = ownName(value) ?? 'resource';
    const line = callSite();
    return `${own} (opened as number ${this.#opened}${line === undefined ? '' : `, ${line}`})`;
  }
}

const ownName = (value: unknown): string | undefined => {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return undefined;
  if ('name' in value && typeof value.name === 'string' && value.name !== '') return value.name;
  const className = value.constructor?.name;
  return className === '' || className === 'Object' || className === 'Function' ? undefined : className;
};

/** The stack above this function: #nameOf; use, adopt or defer; the caller that opened the resource. */
const callSite = (): string | undefined => new Error('only for its stack').stack?.split('\n')[4]?.trim();
