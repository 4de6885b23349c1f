import { untilAborted } from '@runledger/resilience/abort';
import type { GpuSlot } from '../gpu-slots.ts';
import { EVERYBODY } from '../folders/cache-folder.ts';
import { openResidentProcess, type Readiness, type ResidentProcess } from './resident-process.ts';
import type { Acquired, ResidentConnection, ResidentSpec, ResidentHost } from './start-process.ts';

/**
 * Keeps processes between runs: a program with a loaded model, or a model server. A slot keeps one: a run that uses another one stops it
 * first, because both may not fit on the card. To use it in a runner:
 *
 * 1. When the runner is opened, `open` a `ResidentSpec` for each kind of process: what to start, and `connect`, which says when a
 *    started process is ready and gives runs the way to talk to it.
 * 2. In a run, `acquire` it for the slot of the run. It is started when it does not run yet. On `refused` the run fails.
 * 3. Execute the run through the `connection` of the lease. It fails when `ended` settles before.
 * 4. `release` the lease for the next run, or `discard` it when the process no longer obeys.
 *
 * A process is of one organisation, that of its first run, unless its spec says that it is shared: a run of another one stops it first.
 * A process has the code that it was started with: when that has changed, the next run starts it anew.
 * A process is isolated like one of a run (`src/supervision/`), so nothing of it is left when the executor is killed.
 */
export interface ResidentProcesses extends AsyncDisposable {
  /** A process of this kind for each of the slots, started when a run wants it or, with `preload`, at once. */
  open<Connection extends ResidentConnection>(
    spec: ResidentSpec<Connection>,
    slots: readonly GpuSlot[],
  ): SlotProcesses<Connection>;
  /** Ends what has this name, waits for a run, and executed an earlier version than this one last: versions have their ids in order. */
  endEarlier(name: string, workflow_version_id: string): void;
  /** Ends all that is kept, but what is shared. Resolves when nothing of it is left. No run may have one of them. */
  endUnshared(): Promise<void>;
  /** What is loaded in the slots: the workflow versions that processes executed last, as long as they live. */
  loaded(): LoadedVersion[];
  /** The listener is called when that has changed. */
  onLoadedChange(listener: () => void): void;
}

interface LoadedVersion {
  readonly slot: number;
  readonly workflow_version_id: string;
}

export interface SlotProcesses<Connection> {
  /** Waits until the process of the slot is ready; `onLoading` is called when it is not. */
  acquire(run: RunOfSlot, signal: AbortSignal, onLoading?: () => void): Promise<Acquired<Connection>>;
  /**
   * Starts the process of the slot for runs to come, and has it wait for them until then (`performance.now()`). It takes the place of nothing
   * else than an idle process of its own name: `occupied` says that the slot has another one.
   */
  keep(run: RunOfSlot, untilMs: number): Readiness<Connection> | { readonly state: 'occupied' };
}

/** For which run a process is wanted. */
export interface RunOfSlot {
  readonly slot: GpuSlot;
  readonly org_id: string;
  readonly workflow_version_id: string;
}

/** What a slot keeps. */
interface ResidentSlot {
  occupant: ResidentProcess<unknown> | null;
  /** Whose runs the occupant has had; null before the first one. */
  org_id: string | null;
  /** Which workflow version the occupant executed last; null before the first one. */
  version: string | null;
  /** What was last said to be loaded. */
  loaded: string | null;
  /** Every earlier occupant has ended then; null when none is there any more. */
  vacated: Promise<unknown> | null;
}

export const openResidentProcesses = (host: ResidentHost): ResidentProcesses => {
  const slots = new Map<number, ResidentSlot>();
  const listeners = new Set<() => void>();
  // Most changes of processes change nothing that is loaded.
  const onChange = (resident: ResidentSlot): void => {
    const loaded = loadedIn(resident);
    if (loaded === resident.loaded) return;
    resident.loaded = loaded;
    listeners.forEach((listener) => listener());
  };
  const residentIn = ({ index }: GpuSlot): ResidentSlot => {
    const resident = slots.get(index) ?? { ...NOTHING };
    slots.set(index, resident);
    return resident;
  };

  return {
    open: <Connection extends ResidentConnection>(
      spec: ResidentSpec<Connection>,
      forSlots: readonly GpuSlot[],
    ) => {
      const processes = new Map(
        forSlots.map((slot) => {
          const resident = residentIn(slot);
          const owned = { ownerOf: () => ownerOf(resident, spec, host), onChange: () => onChange(resident) };
          return [slot.index, openResidentProcess(spec, slot, host, owned)] as const;
        }),
      );
      const processIn = ({ index }: GpuSlot): ResidentProcess<Connection> => {
        const process = processes.get(index);
        if (process === undefined) throw new Error(`${spec.name} was not opened for slot ${index}.`);
        return process;
      };
      for (const slot of spec.limits.preload ? forSlots : []) {
        const resident = residentIn(slot);
        if (resident.occupant !== null) {
          const advice = 'it is not preloaded: another one is, and a slot keeps one process';
          host.log.warn({ resident: spec.name, slot: slot.index }, advice);
          continue;
        }
        resident.occupant = processes.get(slot.index) ?? null;
        processes.get(slot.index)?.preload();
      }
      return {
        acquire: async ({ slot, org_id, workflow_version_id }, signal, onLoading) => {
          const process = processIn(slot);
          const resident = residentIn(slot);
          const isOfAnother = resident.org_id !== null && resident.org_id !== org_id && !spec.shared;
          const isOther = (): boolean => resident.occupant !== process || isOfAnother;
          const isOutdated = !isOther() && (await process.isOutdated());
          if (isOutdated) host.log.info({ resident: spec.name, slot: slot.index }, OUTDATED);
          // It may have been ended meanwhile.
          if (isOutdated || isOther()) vacateFor(process, resident);
          resident.org_id = org_id;
          if (!process.isReady()) onLoading?.();
          if (resident.vacated !== null) await untilAborted(resident.vacated, signal);
          const acquired = await process.acquire(org_id, signal);
          if (acquired.kind === 'ready' && resident.occupant === process) {
            if (!spec.shared) process.adopt(org_id);
            resident.version = workflow_version_id;
            onChange(resident);
          }
          return acquired;
        },
        keep: ({ slot, org_id, workflow_version_id }, untilMs) => {
          const process = processIn(slot);
          const resident = residentIn(slot);
          const { occupant } = resident;
          if (occupant !== process) {
            const ofName = occupant?.name === spec.name ? occupant : null;
            // It may have been started by a run, with other secrets: those are newer.
            if (ofName?.isLoaded() && resident.version === workflow_version_id) return { state: 'loaded' };
            const isEarlier = ofName?.isReady() ?? false;
            const isThere = occupant !== null && !['off', 'failed'].includes(occupant.readiness().state);
            if (isThere && !isEarlier) return { state: 'occupied' };
            vacateFor(process, resident);
          }
          resident.org_id = org_id;
          resident.version = workflow_version_id;
          void Promise.resolve(resident.vacated).then(() => {
            if (resident.occupant === process) process.keep(untilMs);
          });
          onChange(resident);
          return process.readiness();
        },
      };
    },
    endEarlier: (name, latest) => {
      for (const resident of slots.values()) {
        const { occupant, version } = resident;
        const isEarlier = version !== null && version < latest;
        if (occupant?.name === name && isEarlier && occupant.isReady()) vacateFor(null, resident);
      }
    },
    endUnshared: () => endIn(slots, ({ isShared }) => !isShared),
    loaded: () => [...slots].flatMap(([slot, resident]) => versionsIn(slot, resident)),
    onLoadedChange: (listener) => void listeners.add(listener),
    [Symbol.asyncDispose]: () => endIn(slots, () => true),
  };
};

const OUTDATED = 'the code of a resident process has changed: it is ended, and started with the new one';

const NOTHING: ResidentSlot = { occupant: null, org_id: null, version: null, loaded: null, vacated: null };

/** One that is started before its first run belongs to whoever had all runs of such processes before: nobody else needs it to be as new. */
const ownerOf = (
  resident: ResidentSlot,
  { name, shared }: ResidentSpec<ResidentConnection>,
  { supervisors }: ResidentHost,
): string | null => (shared ? EVERYBODY : (resident.org_id ??= supervisors.caches.soleOwner(name)));

/** Stops what the slot keeps. */
const vacateFor = (next: ResidentSlot['occupant'], resident: ResidentSlot): void => {
  const vacated = Promise.all([resident.vacated, resident.occupant?.stop()]).then(() => {
    if (resident.vacated === vacated) resident.vacated = null;
  });
  resident.vacated = vacated;
  resident.occupant = next;
  resident.version = null;
};

const loadedIn = ({ occupant, version }: ResidentSlot): string | null =>
  occupant?.isLoaded() === true ? version : null;

const versionsIn = (slot: number, resident: ResidentSlot): LoadedVersion[] => {
  const workflow_version_id = loadedIn(resident);
  return workflow_version_id === null ? [] : [{ slot, workflow_version_id }];
};

const endIn = async (
  slots: ReadonlyMap<number, ResidentSlot>,
  isEnded: (occupant: NonNullable<ResidentSlot['occupant']>) => boolean,
): Promise<void> => {
  const ended = [...slots.values()].map(async (resident) => {
    if (resident.occupant !== null && isEnded(resident.occupant)) vacateFor(null, resident);
    await resident.vacated;
  });
  await Promise.all(ended);
};
