import type { Logger } from '@runledger/event-log/connect/observability';
import type { RunnerChoice } from '@runledger/contracts/catalogue/runners';
import type { ExecutorRegistered } from '@runledger/contracts/events/fleet-event';
import type { StateOfVersion } from '@runledger/contracts/requests/ready-slots';
import type { ConfigProblem } from '@runledger/service-kit/config';
import type { Static, TObject, TProperties } from 'typebox';
import type { NotPrepared } from '../code/prepared-folders.ts';
import type { GpuSlot } from '../gpu-slots.ts';
import type { ResidentProcesses } from '../residents/resident-processes.ts';
import type { HostEnvironment } from '../supervision/process-environment.ts';
import type { Mark } from '../supervision/stray-processes.ts';
import type { Supervisors } from '../supervision/supervisors.ts';
import type { OperatorCommand, Organisations } from './operator-command.ts';
import type { FetchUrl } from '../transfer/fetch-url.ts';
import type { Runner, RunnerWork, RunObserver } from './runner.ts';

/**
 * One way of executing workflows. Each has a folder below `runners/` and one line in `runner-registry.ts`. The executor
 * knows nothing else about it.
 */
export interface RunnerType<Settings extends TProperties = TProperties> {
  /** The kind in a machine's record, such as `program`. */
  readonly kind: string;
  /** Its environment variables, as members of the configuration schema. */
  readonly settings: Settings;
  /** Checks the settings at the start, before any run needs them. */
  configure(
    settings: Static<TObject<Settings>>,
    host: ConfiguredHost,
  ): Promise<ConfiguredRunner | InvalidSettings>;
}

/** What is known of the executor before it is open. */
export interface ConfiguredHost extends HostEnvironment {
  readonly slots: readonly GpuSlot[];
}

export interface InvalidSettings {
  readonly problems: readonly ConfigProblem[];
}

export interface ConfiguredRunner {
  readonly kind: string;
  /** The capabilities that the executor registers for this runner. */
  readonly capabilities: RunnerCapabilities;
  /** What its setting lets it start. */
  readonly entries: readonly ConfiguredEntry[];
  readonly open: (host: RunnerHost) => OpenRunner;
}

export interface ConfiguredEntry {
  /** For people, such as `the program "caption"`. */
  readonly name: string;
  readonly command: OperatorCommand;
  readonly organisations: Organisations;
}

export type RunnerCapabilities = Partial<Pick<ExecutorRegistered, 'programs' | 'dedicated'>>;

export interface OpenRunner extends Runner {
  /** Names the outputs of such a run, for people. */
  readonly outputId: (choice: RunnerChoice) => string;
  /** The workflow versions that it can begin without fetching anything; left out by runners that fetch nothing. */
  readonly prepared?: () => readonly string[];
  /** Prepares a version before its runs come; left out by runners that prepare nothing. */
  readonly keep?: (
    version: VersionToKeep,
    observe: Pick<RunObserver, 'progress' | 'log'>,
    signal: AbortSignal,
  ) => Promise<PreparedToKeep | NotPrepared>;
}

interface VersionToKeep extends Pick<
  RunnerWork,
  'org_id' | 'workflow' | 'workflow_version_id' | 'fetchCode' | 'fetchKeptModel' | 'secrets'
> {
  readonly deployment_id: string;
}

/** Nothing of it is removed until it is disposed of. */
export interface PreparedToKeep extends Disposable {
  readonly kind: 'kept';
  /** Its processes have secrets, which change. */
  readonly hasSecrets: boolean;
  /** Loads it in the slot, and keeps it there until then (`performance.now()`) unless another run needs the slot. */
  load(slot: GpuSlot, untilMs: number): StateOfVersion;
}

/** What the executor provides to every runner. */
export interface RunnerHost extends ProcessHost {
  /** The name of the executor, over its restarts. */
  readonly executorName: string;
  /** For temporary folders. */
  readonly workFolder: string;
  readonly slots: readonly GpuSlot[];
  /** Keeps processes between runs. */
  readonly residents: ResidentProcesses;
  /** For a file that stays. */
  readonly fetchModel: FetchUrl;
}

/** What starts processes. */
export interface ProcessHost {
  readonly env: HostEnvironment;
  /** Starts processes that die with the executor. */
  readonly supervisors: Supervisors;
  /** How processes of this executor are recognised. */
  readonly mark: Mark;
  readonly cancelGraceMs: number;
  readonly log: Logger;
}

/** The opened runner of a choice; undefined when this executor has none of that kind. */
export type RunnerFor = (choice: RunnerChoice) => OpenRunner | undefined;
