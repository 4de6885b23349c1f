import type { ProcessEnd } from './supervised-process.ts';

/** A PID namespace leaves no process behind; a process may leave its group by setsid or a double fork. */
export const logStrays = (
  { strays: { killed, survivors } }: ProcessEnd,
  log: { warn(fields: object, message: string): void },
  what: object,
): void => {
  if (killed.length > 0) {
    log.warn({ ...what, killed }, 'the program left processes outside its group; they are killed');
  }
  if (survivors.length > 0) {
    log.warn({ ...what, survivors }, 'processes of the program cannot be killed; the device may be busy');
  }
};
