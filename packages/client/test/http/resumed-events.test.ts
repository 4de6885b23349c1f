import { describe, expect, it } from 'vitest';
import { ConnectionFailed, type Runledger } from '../../src/main.ts';
import { aFact, aFakeService, aStream, json, LOST } from '../fixtures/fake-service.ts';
import { whileTimePasses } from '../fixtures/passing-time.ts';

const eventsOf = (client: Runledger, after?: string) =>
  whileTimePasses(async () => {
    const events = [];
    for await (const event of client.subscribe('r1', { after })) events.push(event);
    return events;
  });

const PROGRESS = 'event: progress\ndata: {"progress":0.5,"live_status":"half","attempt":1}\n\n';
const LAST = aFact(9, { status: 'success', finished: true });
const lastIds = (sent: readonly { readonly headers: Headers }[]) =>
  sent.map(({ headers }) => headers.get('last-event-id'));

describe('a subscription', () => {
  it('continues behind the last fact after each kind of interruption', async () => {
    const { client, sent } = aFakeService([
      aStream([aFact(1), PROGRESS], 'cut'),
      LOST,
      json({ detail: 'Not now' }, 503),
      aStream([aFact(2), 'retry: 1000\n: the service stops\n\n']),
      aStream([aFact(3).slice(0, 20)], 'cut'),
      aStream([aFact(3), 'event: new\ndata: {}\n\n', LAST]),
    ]);
    const events = await eventsOf(client);
    expect(events.map((event) => (event.event === 'fact' ? event.id : event.data.live_status))).toEqual([
      '1',
      'half',
      '2',
      '3',
      '9',
    ]);
    expect(lastIds(sent)).toEqual([null, '1', '1', '1', '2', '2']);
    expect(sent[0]?.path).toBe('/run/r1/events');
  });

  it('begins behind the event that is given, and ends when nothing follows', async () => {
    const { client, sent } = aFakeService([new Response(null, { status: 204 })]);
    expect(await eventsOf(client, '9')).toEqual([]);
    expect(lastIds(sent)).toEqual(['9']);
  });

  it('fails after too many failures in a row, also of streams without anything', async () => {
    for (const step of [LOST, aStream([])]) {
      const { client, sent } = aFakeService([step], { retries: 3 });
      await expect(eventsOf(client)).rejects.toThrow(ConnectionFailed);
      expect(sent).toHaveLength(4);
    }
  });

  it('counts failures anew after each success', async () => {
    const cut = aStream([': waiting\n\n'], 'cut');
    const { client } = aFakeService([cut, LOST, cut, LOST, cut, LOST, aStream([LAST])], { retries: 2 });
    expect(await eventsOf(client)).toHaveLength(1);
  });

  it('ends with a refusal, such as that of an expired token', async () => {
    const { client, sent } = aFakeService([aStream([aFact(1)]), json({ detail: 'expired' }, 401)]);
    await expect(eventsOf(client)).rejects.toMatchObject({ status: 401 });
    expect(sent).toHaveLength(2);
  });

  it('that sends nothing for 45 s is opened again', async () => {
    const silent = (_: unknown, signal: AbortSignal): Response =>
      new Response(
        new ReadableStream({
          start: (controller) => {
            controller.enqueue(new TextEncoder().encode(aFact(1)));
            signal.addEventListener('abort', () => controller.error(signal.reason));
          },
        }),
      );
    const { client, sent } = aFakeService([silent, aStream([LAST])]);
    expect(await eventsOf(client)).toHaveLength(2);
    expect(lastIds(sent)).toEqual([null, '1']);
  });

  it('ends its request when its loop is left, and when its signal aborts', async () => {
    let signals: AbortSignal[] = [];
    let cancelled = 0;
    const open = (_: unknown, signal: AbortSignal): Response => {
      signals = [...signals, signal];
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => {
          controller.enqueue(new TextEncoder().encode(aFact(1)));
          signal.addEventListener('abort', () => controller.error(signal.reason));
        },
        cancel: () => void (cancelled += 1),
      });
      return new Response(body);
    };
    const { client } = aFakeService([open]);
    for await (const _ of client.subscribe('r1')) break;
    expect(cancelled).toBe(1);
    const abort = new AbortController();
    const following = (async () => {
      for await (const _ of client.subscribe('r1', { signal: abort.signal })) abort.abort(new Error('left'));
    })();
    await expect(following).rejects.toThrow('left');
    expect(signals[1]?.aborted).toBe(true);
  });
});

describe('logs that are followed', () => {
  it('continue behind the last line, and end with the run', async () => {
    const line = (id: number) => `id: 1.${id}\nevent: line\ndata: {"attempt":1,"line":"line ${id}"}\n\n`;
    const { client, sent } = aFakeService([
      aStream([line(1)], 'cut'),
      aStream([line(2), 'event: end\ndata: {"status":"success"}\n\n']),
    ]);
    const items = await whileTimePasses(async () => {
      const all = [];
      for await (const item of client.runs.logs('r1', { follow: true, tail: 5 })) all.push(item);
      return all;
    });
    expect(items).toEqual([1, 2].map((id) => ({ attempt: 1, line: `line ${id}` })));
    expect(sent.map(({ path }) => path)).toEqual(Array(2).fill('/run/r1/logs?tail=5&follow=true'));
    expect(lastIds(sent)).toEqual([null, '1.1']);
  });

  it('are lines of JSON when they are not followed', async () => {
    const { client } = aFakeService([LOST, aStream(['{"line":"a"}\n{"li', 'ne":"b"}\n'])]);
    const items = await whileTimePasses(async () => {
      const all = [];
      for await (const item of client.runs.logs('r1')) all.push(item);
      return all;
    });
    expect(items).toEqual([{ line: 'a' }, { line: 'b' }]);
  });
});
