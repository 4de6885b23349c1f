import { availableParallelism } from 'node:os';
import type { HostEnvironment } from './supervision/process-environment.ts';

/** What programs inherit of this executor and its machine. */
export const hostEnvironment = (
  config: HostEnvironment & { readonly EXECUTOR_RUN_CPUS?: number | undefined },
  slots: number,
): HostEnvironment => {
  const { PATH, HOME, LANG, TZ, OMP_NUM_THREADS, EXECUTOR_RUN_CPUS: cpus } = config;
  return {
    PATH,
    HOME,
    LANG,
    TZ: TZ ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
    OMP_NUM_THREADS: OMP_NUM_THREADS ?? fairThreads({ cores: availableParallelism(), slots, cpus }),
  };
};

/**
 * Every numerical library makes a thread for each processor, in each slot. Undefined where there is nothing to share: such a library knows best what it
 * does alone, as torch, which leaves the second thread of each core.
 */
export const fairThreads = ({
  cores,
  slots,
  cpus,
}: {
  readonly cores: number;
  readonly slots: number;
  /** That a program may keep busy; undefined for all. */
  readonly cpus: number | undefined;
}): string | undefined => {
  if (slots <= 1 && cpus === undefined) return undefined;
  const part = Math.floor(cores / Math.max(1, slots));
  return String(Math.max(1, Math.min(part, Math.ceil(cpus ?? part))));
};
