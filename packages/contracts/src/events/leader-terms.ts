import { Type, type Static } from 'typebox';
import { Compile } from 'typebox/compile';
import type { ExecutorId } from '../ids.ts';

/**
 * In FLEET: a scheduler begins to lead. The sequence of the message is the number of its term. Each is fenced on the one before it, and so
 * is the registration of an executor, which thereby knows the last term that began before it.
 */
export const TERMS = 'fleet.term';

const ANNOUNCEMENT = 'runs.none.none.term.began.scheduler.none';

/**
 * In RUNS, under the filter of one executor: what the leaders of earlier terms assign to it is void from this message on. No reader of facts
 * has it in its filter.
 */
export const termAnnouncementSubject = (executor: ExecutorId): string => `${ANNOUNCEMENT}.${executor}`;

export const ALL_TERM_ANNOUNCEMENTS = `${ANNOUNCEMENT}.>`;

export const isTermAnnouncement = (subject: string): boolean => subject.startsWith(`${ANNOUNCEMENT}.`);

const TermBegan = Type.Object({
  type: Type.Literal('TermBegan'),
  version: Type.Literal(1),
  /** Left out in FLEET, where the sequence says it. */
  term: Type.Optional(Type.Integer({ minimum: 1 })),
  /** The scheduler, for people. */
  instance: Type.String(),
});
type TermBegan = Static<typeof TermBegan>;
const isTermBegan = Compile(TermBegan);

export const termBegan = (instance: string, term?: number): TermBegan => ({
  type: 'TermBegan',
  version: 1,
  ...(term !== undefined && { term }),
  instance,
});

/** The term that an executor is told; undefined for another message. */
export const announcedTerm = (body: unknown): number | undefined =>
  isTermBegan.Check(body) ? body.term : undefined;
