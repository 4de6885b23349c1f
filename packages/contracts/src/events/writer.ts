import { Type, type Static } from 'typebox';

/** The services that write facts, as the subject of a fact names them: `executor` is gpu-executor. */
export const WRITERS = ['gateway', 'scheduler', 'executor', 'notifier'] as const;
export const WriterRole = Type.Enum([...WRITERS]);
export type WriterRole = Static<typeof WriterRole>;
