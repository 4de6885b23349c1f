/** One event of a stream; `id` is undefined when it has none. */
interface StreamEvent {
  readonly id: number | undefined;
  /** As it was sent. */
  readonly idText: string | undefined;
  readonly event: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- JSON of any form, which tests look into
  readonly data: any;
  /** As it was sent. */
  readonly dataText: string;
}

/** A client of a stream, as browsers have it, without their coming back by themselves. */
export interface EventSourceClient extends AsyncDisposable {
  readonly status: number;
  readonly headers: Headers;
  readonly events: readonly StreamEvent[];
  readonly comments: readonly string[];
  /** As the service last said, in milliseconds. */
  readonly retry: () => number | undefined;
  /** Resolves when the service has closed the stream, and rejects when it was cut off. */
  readonly ended: Promise<void>;
  facts(): StreamEvent[];
  progress(): StreamEvent[];
}

export const openEventSource = async (
  url: string,
  key: string | null,
  { after, method = 'GET' }: { readonly after?: number | string; readonly method?: string } = {},
): Promise<EventSourceClient> => {
  const disconnected = new AbortController();
  const headers = new Headers(key === null ? {} : { authorization: `Bearer ${key}` });
  if (after !== undefined) headers.set('last-event-id', String(after));
  const response = await fetch(url, { headers, method, signal: disconnected.signal });
  const events: StreamEvent[] = [];
  const comments: string[] = [];
  let retry: number | undefined;
  const takeBlock = (block: string): void => {
    const fields = new Map<string, string>();
    for (const line of block.split('\n')) {
      const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
      if (name === '') comments.push(value);
      else fields.set(name, value);
    }
    if (fields.has('retry')) retry = Number(fields.get('retry'));
    const data = fields.get('data');
    if (data === undefined) return;
    const id = fields.get('id');
    events.push({
      id: id === undefined ? undefined : Number(id),
      idText: id,
      event: fields.get('event') ?? 'message',
      data: JSON.parse(data),
      dataText: data,
    });
  };
  const read = async (): Promise<void> => {
    let text = '';
    for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += piece;
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      blocks.forEach(takeBlock);
    }
  };
  const ended = read();
  ended.catch(() => undefined);
  const named = (name: string) => events.filter(({ event }) => event === name);
  return {
    status: response.status,
    headers: response.headers,
    events,
    comments,
    retry: () => retry,
    ended,
    facts: () => named('fact'),
    progress: () => named('progress'),
    [Symbol.asyncDispose]: async () => {
      disconnected.abort();
      await ended.catch(() => undefined);
    },
  };
};

/** All events of a stream that ends. */
export const readToEnd = async (
  url: string,
  key: string,
  options: { readonly after?: number | string } = {},
): Promise<EventSourceClient> => {
  const source = await openEventSource(url, key, options);
  await source.ended;
  return source;
};
