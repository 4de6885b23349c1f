import { Type, type Static } from 'typebox';

/** The services that write facts. The word in the subject of a fact is the service's role, `executor` for gpu-executor. */
export const WRITERS = ['gateway', 'scheduler', 'executor', 'notifier'] as const;
export const WriterRole = Type.Enum([...WRITERS]);
export type WriterRole = Static<typeof WriterRole>;
