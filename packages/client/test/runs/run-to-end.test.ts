import { describe, expect, it } from 'vitest';
import { RunFailed } from '../../src/main.ts';
import { aFact, aFakeService, aStream, json, LOST, type Sent } from '../fixtures/fake-service.ts';
import { whileTimePasses } from '../fixtures/passing-time.ts';

const ended = (more: Readonly<Record<string, unknown>> = {}) =>
  json({ id: 'r1', finished: true, status: 'success', end_reason: 'completed', error: null, ...more });
const RUNNING = () => json({ id: 'r1', finished: false, status: 'running' });

/** Each request by its method and path, without a query. */
const aRunOf = (
  answers: Readonly<Record<string, (sent: Sent, signal: AbortSignal) => Response | Promise<Response>>>,
) =>
  aFakeService([
    (one, signal) => {
      const answer = answers[`${one.method} ${one.path.split('?')[0]}`];
      if (!answer) throw new Error(`${one.method} ${one.path} is not expected`);
      return answer(one, signal);
    },
  ]);
const QUEUE = 'POST /run/deployment/queue';
const queued = () => json({ run_id: 'r1' });
const cancelled = () => json({ outcome: 'cancelled' });
const named = (sent: readonly Sent[]) => sent.map(({ method, path }) => `${method} ${path.split('?')[0]}`);

describe('a run to its end', () => {
  it('gives the run, and waits as long as it takes', async () => {
    let reads = 0;
    const { client, sent } = aRunOf({
      [QUEUE]: queued,
      'GET /run/r1': () => ((reads += 1) < 3 ? RUNNING() : ended()),
    });
    expect(await whileTimePasses(() => client.run('d1'))).toMatchObject({ id: 'r1', status: 'success' });
    expect(sent.at(-1)?.path).toBe('/run/r1?wait=30');
  });

  it('fails with the run when it ends otherwise', async () => {
    const { client, sent } = aRunOf({
      [QUEUE]: queued,
      'GET /run/r1': () =>
        ended({ status: 'failed', end_reason: 'workflow_error', error: { message: 'no memory' } }),
    });
    const failure = await client.run('d1').catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(RunFailed);
    expect(failure).toMatchObject({
      message: 'Run r1 ended as failed: no memory',
      run: { end_reason: 'workflow_error' },
    });
    expect(named(sent)).not.toContain('POST /run/r1/cancel');
  });

  it('reports progress and logs while it executes', async () => {
    const [progress, logs]: [unknown[], unknown[]] = [[], []];
    const at = (value: number) =>
      `event: progress\ndata: {"progress":${value},"live_status":"step","attempt":1}\n\n`;
    const { client } = aRunOf({
      [QUEUE]: queued,
      'GET /run/r1': () => ended(),
      'GET /run/r1/events': aStream([
        aFact(1),
        at(0.5),
        aFact(2, { status: 'uploading' }),
        aFact(3, { finished: true, status: 'success', progress: 1 }),
      ]),
      'GET /run/r1/logs': aStream(['event: line\ndata: {"line":"a"}\n\n', 'event: end\ndata: {}\n\n']),
    });
    await client.run(
      'd1',
      {},
      { onProgress: (one) => void progress.push(one), onLog: (one) => void logs.push(one) },
    );
    expect(progress).toEqual([
      { status: 'running', progress: 0, live_status: null, attempt: 1 },
      { status: 'running', progress: 0.5, live_status: 'step', attempt: 1 },
      // A fact does not say how far the attempt is.
      { status: 'uploading', progress: 0.5, live_status: null, attempt: 1 },
      { status: 'success', progress: 1, live_status: null, attempt: 1 },
    ]);
    expect(logs).toEqual([{ line: 'a' }]);
  });
});

describe('a run that nobody waits for any more', () => {
  it('is cancelled when the signal aborts, and the reason is thrown', async () => {
    const abort = new AbortController();
    const { client, sent } = aRunOf({
      [QUEUE]: queued,
      'GET /run/r1': (_, signal) => {
        queueMicrotask(() => abort.abort(new Error('the visitor left')));
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      },
      'POST /run/r1/cancel': cancelled,
    });
    await expect(client.run('d1', {}, { signal: abort.signal })).rejects.toThrow('the visitor left');
    expect(named(sent)).toEqual([QUEUE, 'GET /run/r1', 'POST /run/r1/cancel']);
  });

  it('is cancelled also when the confirmation of its queueing was lost: its key finds it', async () => {
    const abort = new AbortController();
    let tries = 0;
    const { client, sent } = aRunOf({
      [QUEUE]: () => {
        tries += 1;
        if (tries > 1) return queued();
        abort.abort(new Error('the visitor left'));
        throw LOST;
      },
      'POST /run/r1/cancel': cancelled,
    });
    await expect(client.run('d1', {}, { signal: abort.signal })).rejects.toThrow('the visitor left');
    expect(named(sent)).toEqual([QUEUE, QUEUE, 'POST /run/r1/cancel']);
    expect(sent[1]?.headers.get('idempotency-key')).toBe(sent[0]?.headers.get('idempotency-key'));
  });

  it('is not queued when the signal has aborted before', async () => {
    const { client, sent } = aRunOf({});
    const signal = AbortSignal.abort(new Error('left before'));
    await expect(client.run('d1', {}, { signal })).rejects.toThrow('left before');
    expect(sent).toEqual([]);
  });

  it('is cancelled when a handler throws', async () => {
    const { client, sent } = aRunOf({
      [QUEUE]: queued,
      'GET /run/r1': (_, signal) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      'GET /run/r1/events': aStream([aFact(1)]),
      'POST /run/r1/cancel': cancelled,
    });
    const onProgress = () => {
      throw new TypeError('a bug of the page');
    };
    await expect(client.run('d1', {}, { onProgress })).rejects.toThrow('a bug of the page');
    expect(named(sent)).toContain('POST /run/r1/cancel');
  });

  it('goes on when the service cannot be reached: the error says so', async () => {
    const { client, sent } = aRunOf({
      [QUEUE]: queued,
      'GET /run/r1': () => {
        throw LOST;
      },
    });
    await expect(whileTimePasses(() => client.run('d1'))).rejects.toMatchObject({ name: 'ConnectionFailed' });
    expect(named(sent)).not.toContain('POST /run/r1/cancel');
  });
});
