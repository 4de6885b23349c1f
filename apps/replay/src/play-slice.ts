import type { SliceFact, SliceHeader } from '@runledger/contracts/slices/slice';
import { readSliceFile } from '@runledger/event-log/slices/read-slice-file';
import type { ReplayedService } from './decisions/judged-at-once.ts';
import type { Verdict } from './decisions/verdict.ts';
import { replayedGateway } from './gateway/replayed-gateway.ts';
import { replayedExecutor } from './gpu-executor/replayed-executor.ts';
import { replayedNotifier } from './notifier/replayed-notifier.ts';
import type { PlaySettings } from './play-settings.ts';
import { replayedScheduler } from './scheduler/replayed-scheduler.ts';
import { foreseen, surveySlice, type Survey } from './slice.ts';

export const SERVICE_NAMES = ['scheduler', 'notifier', 'gpu-executor', 'gateway'] as const;
export type ServiceName = (typeof SERVICE_NAMES)[number];
export const isServiceName = (name: string): name is ServiceName =>
  (SERVICE_NAMES as readonly string[]).includes(name);

const DEPENDS_ON_OTHER_RUNS: Readonly<Record<ServiceName, boolean>> = {
  scheduler: true,
  notifier: true,
  'gpu-executor': false,
  gateway: false,
};

export interface PlayOptions {
  /** The file of the slice. */
  readonly path: string;
  readonly services: readonly ServiceName[];
  readonly settings: PlaySettings;
  /** How long a decision may have taken until it was stored. */
  readonly toleranceMs: number;
}

/** One step of a replay: a fact, and what is known of decisions since the one before. */
export interface Step {
  /** Undefined for the last step, at the end of the slice. */
  readonly fact: SliceFact | undefined;
  readonly verdicts: readonly Verdict[];
  readonly services: readonly ReplayedService[];
  readonly header: SliceHeader;
  readonly assumptions: () => readonly string[];
}

/** The slice is whole, but decisions cannot be compared with it. */
export class UnusableSlice extends Error {
  override readonly name = 'UnusableSlice';
}

/** Plays a slice through the cores of services, one fact after another. It reads the file twice. @throws {InvalidSlice} {UnusableSlice} {NewerFact} */
export async function* playSlice({ path, services: names, ...options }: PlayOptions): AsyncGenerator<Step> {
  const survey = await surveySlice(readSliceFile(path));
  const { header } = survey;
  const hasAllRuns = [...header.organisations, ...header.deployments, ...header.runs].length === 0;
  if (!hasAllRuns && names.some((name) => DEPENDS_ON_OTHER_RUNS[name]))
    throw new UnusableSlice(
      `${path} has some runs only, and others held slots and were notified meanwhile. Capture it without --organisation, --deployment and --run. What executors and gateways decide on a run depends on no other: ask for --service gpu-executor and --service gateway.`,
    );
  const services = names.map((name) => serviceOf(name, { survey, ...options }));
  const assumptions = (): string[] => services.flatMap((service) => service.assumptions());
  const facts = foreseen(readSliceFile(path), (fact) => services.forEach((service) => service.foresee(fact)));
  for await (const fact of facts) {
    const verdicts = services.flatMap((service) => service.take(fact));
    yield { fact, verdicts, services, header, assumptions };
  }
  const verdicts = services.flatMap((service) => service.end());
  yield { fact: undefined, verdicts, services, header, assumptions };
}

const serviceOf = (
  name: ServiceName,
  options: Omit<PlayOptions, 'path' | 'services'> & { readonly survey: Survey },
): ReplayedService => {
  switch (name) {
    case 'scheduler':
      return replayedScheduler(options);
    case 'notifier':
      return replayedNotifier(options);
    case 'gpu-executor':
      return replayedExecutor(options.survey);
    case 'gateway':
      return replayedGateway(options.survey);
  }
};
