import { describe, expect, it } from 'vitest';
import { aborted, sleep, unlessAborted, untilAborted } from '../src/abort.ts';

const never = new Promise<never>(() => undefined);
const over = (): AbortSignal => AbortSignal.abort(new Error('over'));

describe('a wait with a signal', () => {
  it('ends when the signal aborts, before or during the wait', async () => {
    const controller = new AbortController();
    const waits = Promise.all([aborted(controller.signal), sleep(60_000, controller.signal)]);
    controller.abort();
    await expect(waits).resolves.toHaveLength(2);
    await expect(Promise.all([aborted(over()), sleep(60_000, over())])).resolves.toHaveLength(2);
  });

  it('for work rejects with the reason of the signal', async () => {
    await expect(unlessAborted(never, over())).rejects.toThrow('over');
    const controller = new AbortController();
    const work = unlessAborted(never, controller.signal);
    controller.abort(new Error('stopped'));
    await expect(work).rejects.toThrow('stopped');
  });

  it('for work gives its result', async () => {
    expect(await unlessAborted(Promise.resolve(1), new AbortController().signal)).toBe(1);
  });

  it('until it is aborted gives the result, the error, or nothing', async () => {
    const { signal } = new AbortController();
    expect(await untilAborted(Promise.resolve(1), signal)).toBe(1);
    await expect(untilAborted(Promise.reject(new Error('broken')), signal)).rejects.toThrow('broken');
    const controller = new AbortController();
    const work = untilAborted(never, controller.signal);
    controller.abort(new Error('stopped'));
    expect(await work).toBeUndefined();
    expect(await untilAborted(never, over())).toBeUndefined();
  });
});
