import { newUuid } from '@runledger/contracts/ids';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { fleetEvents, joinFleet, type PresenceSettings } from '../src/fleet-presence.ts';

/** A broker that can be unavailable, and what it received. */
const aBroker = (): {
  settings: PresenceSettings;
  received: string[];
  broker: { unavailable: boolean; refused: number; lastRefused: string; change: () => void };
} => {
  const received: string[] = [];
  const broker = { unavailable: false, refused: 0, lastRefused: '', change: (): void => undefined };
  const take = async (what: string): Promise<void> => {
    if (broker.unavailable) {
      broker.refused += 1;
      broker.lastRefused = what;
      throw new Error('the broker is unavailable');
    }
    received.push(what);
  };
  const registration = {
    executor_id: 'box.0a1b2c3d4e5f',
    slots: [],
    machines: ['*'],
    programs: [],
    dedicated: {},
    public_key: 'key',
    software_version: '1',
  };
  const settings: PresenceSettings = {
    fact: fleetEvents(registration, newUuid, () => new Date()),
    append: (event) => take(event.type),
    sendHeartbeat: ({ count, draining }) => take(draining ? `last ${count}` : `heartbeat ${count}`),
    onChange: (listener) => {
      broker.change = listener;
    },
    periodMs: 300,
    log: silentLogger,
  };
  return { settings, received, broker };
};

const notStopping = new AbortController().signal;

describe('an executor in the fleet', () => {
  it('registers first, then sends heartbeats, and leaves at the end', async () => {
    const { settings, received } = aBroker();
    const presence = await joinFleet(settings, notStopping);
    await waitFor('heartbeats', () => received.includes('heartbeat 2'));
    expect(received.slice(0, 4)).toEqual(['ExecutorRegistered', 'heartbeat 0', 'heartbeat 1', 'heartbeat 2']);
    await presence.drain();
    await waitFor('a heartbeat that says so', () => received.some((what) => what.startsWith('last')));
    await presence.leave();
    expect(received.at(-1)).toBe('ExecutorLeft');
    expect(received).toContain('ExecutorDraining');
  });

  it('sends a heartbeat soon after a change, one for several changes', async () => {
    const { settings, received, broker } = aBroker();
    const presence = await joinFleet({ ...settings, periodMs: 600_000 }, notStopping);
    await waitFor('the first heartbeat', () => received.includes('heartbeat 0'));
    await presence.leave();
    const quick = aBroker();
    const other = await joinFleet({ ...quick.settings, periodMs: 4_800 }, notStopping);
    await waitFor('the first heartbeat', () => quick.received.includes('heartbeat 0'));
    const from = performance.now();
    for (let change = 0; change < 5; change += 1) quick.broker.change();
    await waitFor('the next one', () => quick.received.includes('heartbeat 1'));
    expect(performance.now() - from).toBeLessThan(4_800 / 3);
    expect(quick.received).not.toContain('heartbeat 2');
    await other.leave();
    expect(broker.refused).toBe(0);
  });

  it('registers as soon as the broker is available', async () => {
    const { settings, received, broker } = aBroker();
    broker.unavailable = true;
    const joining = joinFleet(settings, notStopping);
    await waitFor('two tries', () => broker.refused > 1);
    broker.unavailable = false;
    await (await joining).leave();
    expect(received[0]).toBe('ExecutorRegistered');
  });

  it('sends a heartbeat that failed again well within the period', async () => {
    const { settings, received, broker } = aBroker();
    const append: PresenceSettings['append'] = async (event) => {
      await settings.append(event);
      broker.unavailable = true;
    };
    const presence = await joinFleet({ ...settings, append, periodMs: 12_000 }, notStopping);
    await waitFor('two tries', () => broker.refused === 2);
    broker.unavailable = false;
    await waitFor('the first heartbeat', () => received.includes('heartbeat 0'), { withinMs: 2_000 });
    await presence.leave();
  });

  it('gives up the registration when it stops', async () => {
    const { settings, broker } = aBroker();
    broker.unavailable = true;
    await expect(joinFleet(settings, AbortSignal.abort())).rejects.toThrow(/abort/i);
  });

  it('registers again after a heartbeat period without heartbeats, and reports its absence meanwhile', async () => {
    const { settings, received, broker } = aBroker();
    const presence = await joinFleet(settings, notStopping);
    await waitFor('a heartbeat', () => received.includes('heartbeat 0'));
    expect(presence.absence()).toBeNull();
    broker.unavailable = true;
    await waitFor('its absence', () => presence.absence());
    expect(presence.absence()).toBe('the broker is unavailable');
    // After a period without a heartbeat it registers first.
    await waitFor('a refused registration', () => broker.lastRefused === 'ExecutorRegistered');
    broker.unavailable = false;
    await waitFor('its return', () => presence.absence() === null);
    expect(received.filter((what) => what === 'ExecutorRegistered')).toHaveLength(2);
    await presence.leave();
  });
});
