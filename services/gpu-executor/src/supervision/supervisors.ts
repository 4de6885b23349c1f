import type { Containment } from './containment.ts';
import { formatMark, MARK_VARIABLE, type Mark } from './process-mark.ts';
import type { SupervisedProcess } from './supervised-process.ts';
import type { Start, StreamsKind } from './supervisor-link.ts';
import { openSupervisor, type Supervisor } from './supervisor-process.ts';

/** Starts processes that die with this executor. It has as many supervisors as programs ran at once. */
export interface Supervisors extends Disposable {
  /** How the processes of a run are kept together. */
  readonly containment: Containment;
  /** By a supervisor that is kept for the next one. */
  start(start: Start): SupervisedProcess;
  /** For a process that is kept. Its supervisor has no other one, and its streams are pipes, without the supervisor between. */
  startKept(start: Start): SupervisedProcess;
}

export const openSupervisors = (containment: Containment, mark: Mark, path: string): Supervisors => {
  const idle = new Set<Supervisor>();
  const open = new Set<Supervisor>();
  const openAnother = (streams: StreamsKind): Supervisor => {
    const supervisor = openSupervisor(
      { containment, env: { PATH: path, [MARK_VARIABLE]: formatMark(mark) }, streams },
      {
        idle: () => idle.add(supervisor),
        closed: () => {
          idle.delete(supervisor);
          open.delete(supervisor);
        },
      },
    );
    open.add(supervisor);
    return supervisor;
  };
  return {
    containment,
    start: (start) => {
      const [supervisor = openAnother('relayed')] = idle;
      idle.delete(supervisor);
      return supervisor.start(start);
    },
    startKept: (start) => openAnother('direct').start(start),
    [Symbol.dispose]: () => {
      for (const supervisor of open) supervisor.close();
    },
  };
};
