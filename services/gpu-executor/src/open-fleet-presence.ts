import type { GpuModel } from '@runledger/contracts/gpu';
import type { ExecutorFact } from '@runledger/contracts/events/fleet-event';
import { newUuid, type ExecutorId } from '@runledger/contracts/ids';
import { sendHeartbeat } from '@runledger/coordination/heartbeats';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { appendFleet, registerInTerm } from '@runledger/event-log/append/append-fleet';
import packageJson from '../package.json' with { type: 'json' };
import type { KnownTerms } from './attempt/assignment.decide.ts';
import type { Executor } from './attempt/executor.ts';
import type { ExecutorCapabilities } from './capabilities.ts';
import { fleetEvents, joinFleet, type FleetPresence } from './fleet-presence.ts';
import type { HeldBy } from './open-executor.ts';
import type { ResidentProcesses } from './residents/resident-processes.ts';
import { registeredBy } from './runners/runner-registry.ts';

/** Registers this executor with its capabilities, and sends heartbeats with the runs of its slots. */
export const openFleetPresence = (
  log: EventLog,
  {
    executor_id,
    capabilities,
    serving: { machines, labels },
    publicKey,
    heldBy,
    periodMs,
    executor,
    terms,
    residents,
    prepared,
    onHeartbeat,
  }: {
    readonly executor_id: ExecutorId;
    readonly capabilities: ExecutorCapabilities;
    /** Which machines it serves, and its labels. */
    readonly serving: { readonly machines: readonly string[]; readonly labels: readonly string[] };
    /** Verifies the upload tokens of this executor's attempts. */
    readonly publicKey: string;
    readonly heldBy: HeldBy;
    readonly periodMs: number;
    readonly executor: Executor;
    readonly terms: KnownTerms;
    readonly residents: ResidentProcesses;
    /** The workflow versions that it has prepared. */
    readonly prepared: () => readonly string[];
    readonly onHeartbeat: () => void;
  },
  stopping: AbortSignal,
): Promise<FleetPresence> => {
  const registration = {
    executor_id,
    slots: capabilities.slots.map(({ index, gpu }): { slot: number; gpu: GpuModel } => ({
      slot: index,
      gpu,
    })),
    machines: [...machines],
    ...registeredBy(capabilities.runners),
    ...(labels.length > 0 && { labels: [...new Set(labels)] }),
    public_key: publicKey,
    ...heldBy,
    isolation_gaps: [...heldBy.isolation_gaps],
    software_version: packageJson.version,
  };
  return joinFleet(
    {
      fact: fleetEvents(registration, newUuid, () => new Date()),
      append: (event) =>
        event.type === 'ExecutorRegistered' ? register(log, event, terms) : appendFleet(log, event),
      sendHeartbeat: async (heartbeat) => {
        const versions = prepared();
        const present = {
          runs: executor.busy(),
          loaded: residents.loaded(),
          ...(versions.length > 0 && { prepared: [...versions] }),
        };
        await sendHeartbeat(log, { executor_id, ...present, ...heartbeat }, periodMs * 3);
        onHeartbeat();
      },
      onChange: (listener) => residents.onLoadedChange(listener),
      periodMs,
      log: log.logger,
    },
    stopping,
  );
};

/**
 * Registers after the last term that has begun. An assignment may come before the answer, so the term counts as known before it is sent.
 */
const register = async (log: EventLog, event: ExecutorFact, terms: KnownTerms): Promise<void> => {
  for (let last = terms.registered; ;) {
    terms.onRegister(last);
    const registered = await registerInTerm(log, event, last);
    if (registered.kind === 'stored') return;
    last = registered.term;
  }
};
