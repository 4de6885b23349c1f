import { EventEmitter } from 'node:events';
import CircuitBreaker from 'opossum';
import { describe, expect, expectTypeOf, it, vi } from 'vitest';
import { newCircuit } from '../../../src/breaker/opossum.ts';
import { BREAKER_SETTINGS } from '../../../src/core/breakers/breaker-settings.ts';
import { A, MINUTE, openFor, pass, SECOND, tryBreakers, useStoppedTime } from './observed-breakers.ts';

useStoppedTime();

/** Each was measured with opossum 10. */
describe('opossum', () => {
  it('times no request: nothing runs beside a result that is told', () => {
    const { breakers } = tryBreakers();
    breakers.report(A, breakers.ticket(A), 'failure');
    const timers = vi.getTimerCount();
    breakers.report(A, breakers.ticket(A), 'success');
    breakers.report(A, breakers.ticket(A), 'failure');
    expect(vi.getTimerCount()).toBe(timers);
  });

  it('is given no AbortController: it would be one for all requests to a receiver', async () => {
    vi.stubGlobal('AbortController', function refuse() {
      throw new Error('Each request brings its own signal.');
    });
    const { tell, state } = tryBreakers();
    await tell('fffff');
    await pass(30 * SECOND);
    await tell('s');
    expect(state()).toEqual({ kind: 'probing', limit: 2 });
    vi.unstubAllGlobals();
  });

  it('is not typed to take the options that are traps', () => {
    type Options = ConstructorParameters<typeof CircuitBreaker>[1];
    expectTypeOf<Options>().not.toHaveProperty('abortController');
    expectTypeOf<Options>().not.toHaveProperty('capacity');
    expectTypeOf<Options>().not.toHaveProperty('errorFilter');
    expectTypeOf<Options>().not.toHaveProperty('state');
    expectTypeOf<Options>().toHaveProperty('timeout');
  });

  it('counts over ten minutes: time-outs of 15 seconds, one after the other, open it', async () => {
    const { tell, state } = tryBreakers();
    for (const outcome of 'ffffsffff') {
      await pass(15 * SECOND);
      await tell(outcome);
    }
    expect(state().kind).toBe('closed');
    await pass(5 * MINUTE);
    await tell('sf');
    expect(state().kind).toBe('open');
  });

  it('limits nothing: a thousand results at the same moment are no failures', async () => {
    const { tell, state } = tryBreakers();
    await tell('f' + 's'.repeat(1_000));
    await tell('ffff');
    expect(state()).toEqual({ kind: 'closed' });
  });

  it('is not told of what is charged to nobody: it does not close', async () => {
    const { tell, state } = tryBreakers();
    await tell('fffff');
    await pass(30 * SECOND);
    await tell('n'.repeat(20));
    expect(state()).toEqual({ kind: 'probing', limit: 1 });
    await tell('f');
    expect(state()).toEqual(openFor(60 * SECOND, 2));
  });

  it('is not told of what comes while it is open: calls without a result would thin the failures out', async () => {
    const { tell, state } = tryBreakers();
    await tell('ffffsffffsf');
    expect(state().kind).toBe('open');
    await tell('f'.repeat(200));
    await pass(30 * SECOND);
    await tell('s'.repeat(15));
    // 9 of 26 have failed now. 19 of 38 are half, 20 of 39 are more.
    await tell('ffffsffffsff');
    expect(state().kind).toBe('closed');
    await tell('f');
    expect(state().kind).toBe('open');
  });

  it('has no timer of its own while it is closed, and one while it is open', async () => {
    const { tell, breakers } = tryBreakers();
    const before = vi.getTimerCount();
    for (let nth = 0; nth < 100; nth++) await tell('f', `https://${nth}.example:443`);
    expect(breakers.instances).toBe(100);
    expect(vi.getTimerCount()).toBe(before);
    await tell('ffff', 'https://7.example:443');
    expect(vi.getTimerCount()).toBe(before + 1);
  });

  it('reads how long it is to be open for before anybody hears that it opens', async () => {
    const onHalfOpen = vi.fn();
    const rotation = new EventEmitter();
    const circuit = newCircuit({ settings: BREAKER_SETTINGS, rotation, onHalfOpen });
    expect(circuit.fail({ openMs: 2 * SECOND, trip: true })).toBe(true);
    await pass(2 * SECOND - 1);
    expect(onHalfOpen).not.toHaveBeenCalled();
    await pass(1);
    expect(onHalfOpen).toHaveBeenCalledOnce();
    circuit.shutDown();
    expect([vi.getTimerCount(), rotation.listenerCount('rotate')]).toEqual([0, 0]);
  });

  it('is closed within the call by a success: what is told next, at the same moment, is counted', async () => {
    const circuit = newCircuit({
      settings: BREAKER_SETTINGS,
      rotation: new EventEmitter(),
      onHalfOpen: () => {},
    });
    circuit.fail({ openMs: SECOND, trip: true });
    await pass(SECOND);
    circuit.succeed();
    expect(circuit.fail({ openMs: SECOND, trip: false })).toBe(false);
    expect(circuit.failures()).toBe(2);
    circuit.shutDown();
  });

  it('keeps what the circuit relies on: a failure that is thrown is counted within the call', () => {
    const bare = new CircuitBreaker(
      () => {
        throw new Error('failed');
      },
      {
        timeout: false,
        resetTimeout: 1,
        volumeThreshold: 0,
        errorThresholdPercentage: 50,
        rollingCountTimeout: 1_000,
        rollingCountBuckets: 10,
        rollingPercentilesEnabled: false,
        enableSnapshots: false,
        rotateBucketController: new EventEmitter(),
      },
    );
    const fired = bare.fire();
    expect([bare.opened, bare.stats.failures]).toEqual([true, 1]);
    bare.shutdown();
    return expect(fired).rejects.toThrow('failed');
  });
});
