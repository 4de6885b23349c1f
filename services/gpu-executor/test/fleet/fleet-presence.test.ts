import { newUuid } from '@runledger/contracts/ids';
import { waitFor } from '@runledger/testing/time/wait-for';
import { describe, expect, it } from 'vitest';
import { fleetEvents } from '../../src/fleet/fleet-events.ts';
import { joinFleet, type PresenceSettings } from '../../src/fleet/fleet-presence.ts';

/** A broker that can be away, and what was told to it. */
const aBroker = (): {
  settings: PresenceSettings;
  told: string[];
  broker: { away: boolean; refused: number; lastRefused: string };
} => {
  const told: string[] = [];
  const broker = { away: false, refused: 0, lastRefused: '' };
  const take = async (what: string): Promise<void> => {
    if (broker.away) {
      broker.refused += 1;
      broker.lastRefused = what;
      throw new Error('the broker is away');
    }
    told.push(what);
  };
  const registration = {
    executor_id: 'box.0a1b2c3d4e5f',
    slots: [],
    machines: ['*'],
    programs: [],
    public_key: 'key',
    software_version: '1',
  };
  const settings: PresenceSettings = {
    fact: fleetEvents(registration, newUuid, () => new Date()),
    append: (event) => take(event.type),
    sendHeartbeat: ({ count, draining }) => take(draining ? `last ${count}` : `heartbeat ${count}`),
    periodMs: 300,
    log: { info: () => undefined, warn: () => undefined },
  };
  return { settings, told, broker };
};

const nobodyStops = new AbortController().signal;

describe('an executor in the fleet', () => {
  it('registers first, then sends heartbeats, and leaves at the end', async () => {
    const { settings, told } = aBroker();
    const presence = await joinFleet(settings, nobodyStops);
    await waitFor('heartbeats', () => told.includes('heartbeat 2'));
    expect(told.slice(0, 4)).toEqual(['ExecutorRegistered', 'heartbeat 0', 'heartbeat 1', 'heartbeat 2']);
    await presence.drain();
    await waitFor('a heartbeat that says so', () => told.some((what) => what.startsWith('last')));
    await presence.leave();
    expect(told.at(-1)).toBe('ExecutorLeft');
    expect(told).toContain('ExecutorDraining');
  });

  it('registers however long the broker is unavailable', async () => {
    const { settings, told, broker } = aBroker();
    broker.away = true;
    const joining = joinFleet(settings, nobodyStops);
    await waitFor('a try', () => broker.refused > 1);
    broker.away = false;
    await (await joining).leave();
    expect(told[0]).toBe('ExecutorRegistered');
  });

  it('gives up the registration when it has to stop', async () => {
    const { settings, broker } = aBroker();
    broker.away = true;
    await expect(joinFleet(settings, AbortSignal.abort())).rejects.toThrow(/abort/i);
  });

  it('registers again after a time without heartbeats in which it may have been declared lost, and reports meanwhile that it is absent', async () => {
    const { settings, told, broker } = aBroker();
    const presence = await joinFleet(settings, nobodyStops);
    await waitFor('a heartbeat', () => told.includes('heartbeat 0'));
    expect(presence.absence()).toBeNull();
    broker.away = true;
    await waitFor('its absence', () => presence.absence());
    expect(presence.absence()).toBe('the broker is away');
    // The registration is tried instead of a heartbeat once the silence was longer than a period.
    await waitFor('a registration that is refused', () => broker.lastRefused === 'ExecutorRegistered');
    broker.away = false;
    await waitFor('its return', () => presence.absence() === null);
    expect(told.filter((what) => what === 'ExecutorRegistered')).toHaveLength(2);
    await presence.leave();
  });
});
