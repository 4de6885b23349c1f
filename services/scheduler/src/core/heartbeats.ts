import type { Heartbeat } from '@runledger/contracts/events/fleet-event';
import { runIdOf } from './slot-allocation.ts';
import { refreshExecutor, refreshSlot, type Fleet } from './fleet.ts';
import type { RegisteredExecutor, Slot } from './registered-executor.ts';

/** A heartbeat, the broker's time of it (ISO 8601), and the connected time at which it arrived. */
export interface ReceivedHeartbeat {
  readonly heartbeat: Heartbeat;
  readonly time: string;
  readonly connectedMs: number;
}

/** False when the heartbeat is known: a restarted watch receives the last one again. */
export const acceptHeartbeat = (
  fleet: Fleet,
  executor: RegisteredExecutor,
  { heartbeat, time, connectedMs }: ReceivedHeartbeat,
): boolean => {
  if (executor.lastHeartbeat === time) return false;
  executor.lastHeartbeat = time;
  executor.confirmed = true;
  if (heartbeat.draining) executor.draining = true;
  if (!executor.lossPending) fleet.lastSeen.set(executor, connectedMs);
  compareWithListed(fleet, executor, heartbeat, connectedMs);
  const loaded = new Map(heartbeat.loaded?.map((one) => [one.slot, one.workflow_version_id]));
  for (const slot of executor.slots.values()) slot.loaded = loaded.get(slot.number) ?? null;
  executor.prepared = heartbeat.prepared ?? [];
  refreshExecutor(fleet, executor);
  return true;
};

/** Starts every heartbeat period again. With `forget`, an executor gets no runs before its next heartbeat. */
export const resetHeartbeats = (
  fleet: Fleet,
  now: number,
  { forget }: { readonly forget: boolean },
): void => {
  for (const executor of fleet.executors.values()) {
    if (!executor.lossPending) fleet.lastSeen.set(executor, now);
    if (!forget) continue;
    executor.confirmed = false;
    refreshExecutor(fleet, executor);
  }
};

/** Whether a heartbeat came since it registered or the connection was restored, and less than `withinMs` ago. */
export const isResponsive = (
  { lastSeen }: Fleet,
  executor: RegisteredExecutor,
  { withinMs, now }: { readonly withinMs: number; readonly now: number },
): boolean => {
  const since = lastSeen.get(executor);
  return executor.confirmed && since !== undefined && now - since < withinMs;
};

/** Blocks the slot until the executor no longer lists the attempt, or the grace period is over. */
export const keepLeftover = (
  fleet: Fleet,
  slot: Slot,
  { run_id, attempt }: { readonly run_id: string; readonly attempt: number },
  now: number,
): void => {
  slot.leftover = { run_id, attempt, until: now + fleet.leftoverGraceMs };
  fleet.leftover.delete(slot);
  fleet.leftover.add(slot);
  refreshSlot(fleet, slot);
};

/** Frees the slots whose grace period is over, and returns their executors. */
export const releaseLeftovers = (fleet: Fleet, now: number): Set<RegisteredExecutor> => {
  const freed = new Set<RegisteredExecutor>();
  for (const slot of fleet.leftover) {
    if (!slot.leftover || slot.leftover.until === null) continue;
    if (now < slot.leftover.until) continue;
    fleet.leftover.delete(slot);
    slot.leftover = { ...slot.leftover, until: null };
    refreshSlot(fleet, slot);
    freed.add(slot.executor);
  }
  return freed;
};

/** Blocks each slot in which the executor lists an attempt that the log does not have there. */
const compareWithListed = (
  fleet: Fleet,
  executor: RegisteredExecutor,
  { runs }: Heartbeat,
  now: number,
): void => {
  const listed = new Map(runs.map((run) => [run.slot, run]));
  for (const slot of executor.slots.values()) {
    const run = listed.get(slot.number);
    const held = fleet.allocation.runsIn({ executor: executor.id, slot: slot.number });
    if (!run || held.some((name) => runIdOf(name) === run.run_id)) {
      slot.leftover = null;
      fleet.leftover.delete(slot);
    } else if (slot.leftover?.run_id !== run.run_id || slot.leftover.attempt !== run.attempt) {
      keepLeftover(fleet, slot, run, now);
    }
  }
};
