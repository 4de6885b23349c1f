import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** Stands between a client and a nats-server on loopback, and does to their connections what a test chooses. */
export interface TcpProxy extends AsyncDisposable {
  readonly url: string;
  /** Delays everything that the server sends, in its order. */
  delayMs: number;
  /** Cuts the connection instead of passing on the next chunk from the server that holds this text. */
  loseNext(text: string): void;
  /** How many chunks were lost so. */
  lost(): number;
  /**
   * Holds back what clients send, from the next chunk on that holds this text. What the server sends still passes. The server gets it all when
   * everything passes again, also from clients that are gone by then.
   */
  holdFrom(text: string): void;
  /** Whether a client has sent it. */
  isHolding(): boolean;
  /** Nothing passes any more, in either direction. Connections stay open, and new ones are accepted. */
  stall(): void;
  /** Closes all connections, and each new one. */
  drop(): void;
  /** Everything passes again, also what was held back. */
  heal(): void;
}

interface Link {
  readonly client: Socket;
  readonly upstream: Socket;
  /** What the client sent and the server did not get yet; null while that passes. */
  held: Buffer[] | null;
}

/** `to`: the port of the server, asked for at each connection. */
export const tcpProxy = async (to: () => number): Promise<TcpProxy> => {
  const links = new Set<Link>();
  let state: 'open' | 'stalled' | 'dropped' = 'open';
  const loss: Loss = { text: undefined, count: 0 };
  const delay = { ms: 0 };
  const holding: Holding = { text: undefined, isOn: false };
  const server = createServer((client) => {
    const held = holding.isOn ? [] : null;
    const link: Link = { client, upstream: connect(to(), '127.0.0.1'), held };
    links.add(link);
    passOn(link, { loss, delay, holding });
    client.once('close', () => {
      if (!link.held) links.delete(link);
    });
    if (state === 'stalled') hold(link);
    if (state === 'dropped') cut(link);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A TCP server has an address object, no path.
  const address = server.address() as AddressInfo;
  return {
    url: `nats://127.0.0.1:${address.port}`,
    get delayMs() {
      return delay.ms;
    },
    set delayMs(ms) {
      delay.ms = ms;
    },
    loseNext: (text) => {
      loss.text = text;
    },
    lost: () => loss.count,
    holdFrom: (text) => {
      holding.text = text;
    },
    isHolding: () => holding.isOn,
    stall: () => {
      state = 'stalled';
      links.forEach(hold);
    },
    drop: () => {
      state = 'dropped';
      links.forEach(cut);
    },
    heal: () => {
      state = 'open';
      holding.isOn = false;
      links.forEach(release);
    },
    [Symbol.asyncDispose]: async () => {
      links.forEach(cut);
      server.close();
      await once(server, 'close');
    },
  };
};

interface Loss {
  text: string | undefined;
  count: number;
}

interface Holding {
  text: string | undefined;
  isOn: boolean;
}

interface Disturbances {
  readonly loss: Loss;
  readonly delay: { readonly ms: number };
  readonly holding: Holding;
}

const passOn = (link: Link, { loss, delay, holding }: Disturbances): void => {
  const { client, upstream } = link;
  for (const socket of [client, upstream]) {
    socket.on('error', () => end(link));
    socket.on('close', () => end(link));
  }
  client.on('data', (chunk: Buffer) => {
    if (holding.text !== undefined && chunk.includes(holding.text)) {
      holding.text = undefined;
      holding.isOn = true;
      link.held = [];
    }
    if (link.held) link.held.push(chunk);
    else upstream.write(chunk);
  });
  let lastAt = 0;
  upstream.on('data', (chunk: Buffer) => {
    if (loss.text !== undefined && chunk.includes(loss.text)) {
      loss.text = undefined;
      loss.count += 1;
      cut(link);
      return;
    }
    // Nothing overtakes what was sent before.
    lastAt = Math.max(performance.now() + delay.ms, lastAt);
    const waitMs = lastAt - performance.now();
    if (waitMs > 0) setTimeout(() => client.write(chunk), waitMs);
    else client.write(chunk);
  });
};

const hold = ({ client, upstream }: Link): void => {
  client.pause();
  upstream.pause();
};

const release = (link: Link): void => {
  const { client, upstream, held } = link;
  link.held = null;
  for (const chunk of held ?? []) upstream.write(chunk);
  if (client.destroyed) upstream.end();
  client.resume();
  upstream.resume();
};

/** The server still gets what is held back. */
const end = (link: Link): void => {
  if (!link.held) cut(link);
};

const cut = ({ client, upstream }: Link): void => {
  client.destroy();
  upstream.destroy();
};
