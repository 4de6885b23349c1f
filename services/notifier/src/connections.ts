import { Agent, type ClientRequest, type ClientRequestArgs, type RequestOptions } from 'node:http';
import type { Duplex } from 'node:stream';

const IDLE_MS = 4_000;
const MAX_IDLE = 512;
const MAX_IDLE_PER_RECEIVER = 8;

/**
 * The connection that a request wants: any idle one of this key, or the one that was opened for it. The key names the
 * receiver and its checked addresses, so no connection to another address is used.
 */
export class Wanted {
  readonly key: string;
  readonly #opened: Duplex | undefined;
  #taken = false;

  constructor(key: string, opened?: Duplex) {
    this.key = key;
    this.#opened = opened;
  }

  take(): Duplex {
    if (this.#opened === undefined) throw new Error('No connection was opened for a request that needs one');
    this.#taken = true;
    return this.#opened;
  }

  /** Closes the connection that was opened when an idle one was used instead. */
  dropUntaken(): void {
    if (!this.#taken) this.#opened?.destroy();
  }
}

export interface WantingOptions extends RequestOptions {
  readonly wanted: Wanted;
}

/**
 * The kept-alive connections of a sender: few for each receiver, few in all, each idle for a short time only. The agent opens
 * none itself, so that a failed one leaves nothing behind in it.
 */
export class Connections extends Agent {
  readonly #open = new Set<Duplex>();
  /** In the order in which they became idle. */
  readonly #idle = new Set<Duplex>();

  constructor() {
    super({ keepAlive: true, timeout: IDLE_MS, maxFreeSockets: MAX_IDLE_PER_RECEIVER });
  }

  hasIdle(key: string): boolean {
    return this.freeSockets[key]?.some((socket) => !socket.destroyed) ?? false;
  }

  dropIdle(key: string): void {
    for (const socket of this.freeSockets[key]?.slice() ?? []) socket.destroy();
  }

  /** Closes all of them, and waits until they are closed. */
  async close(): Promise<void> {
    this.destroy();
    await Promise.all([...this.#open].map(closed));
  }

  override getName(options?: ClientRequestArgs): string {
    return wantedBy(options).key;
  }

  override createConnection(options: ClientRequestArgs): Duplex {
    const socket = wantedBy(options).take();
    this.#open.add(socket);
    socket.once('close', () => {
      this.#open.delete(socket);
      this.#idle.delete(socket);
    });
    return socket;
  }

  override keepSocketAlive(socket: Duplex): boolean {
    // Not in its type: false after a response with too short a `Keep-Alive: timeout=…`.
    const kept: unknown = super.keepSocketAlive(socket);
    if (kept === false) return false;
    const [oldest] = this.#idle;
    if (oldest !== undefined && this.#idle.size >= MAX_IDLE) {
      this.#idle.delete(oldest);
      oldest.destroy();
    }
    this.#idle.add(socket);
    return true;
  }

  override reuseSocket(socket: Duplex, request: ClientRequest): void {
    this.#idle.delete(socket);
    super.reuseSocket(socket, request);
  }
}

const closed = async (socket: Duplex): Promise<void> => {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  socket.once('close', () => resolve(undefined));
  if (socket.closed) return;
  await promise;
};

const wantedBy = (options?: ClientRequestArgs): Wanted => {
  if (options !== undefined && 'wanted' in options && options.wanted instanceof Wanted) return options.wanted;
  throw new Error('A request of a sender does not name the connection that it wants');
};
