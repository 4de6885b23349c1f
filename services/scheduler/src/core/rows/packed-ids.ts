import { packTraceparent, packUuid, unpackTraceparent, unpackUuid } from './packed-text.ts';
import { ID_WORDS, ROW_FLAGS, ROW_WORDS, type RowPage } from './row-page.ts';

/** The ids of a queued run, beside its own. */
export interface PackableIds {
  readonly event_id: string | null;
  readonly correlation_id: string;
  readonly traceparent: string | null;
}

/** Writes the ids into a row, and returns those that are texts of another kind; undefined for none. */
export const packIds = (
  { ids, flags }: RowPage,
  index: number,
  { event_id, correlation_id, traceparent }: PackableIds,
): Partial<PackableIds> | undefined => {
  const word = index * ROW_WORDS;
  const hasEvent = event_id !== null && packUuid(event_id, ids, word + ID_WORDS.event);
  const hasCorrelation = packUuid(correlation_id, ids, word + ID_WORDS.correlation);
  const traceFlags = traceparent === null ? -1 : packTraceparent(traceparent, ids, word + ID_WORDS.trace);
  flags[index] =
    (hasEvent ? ROW_FLAGS.event : 0) |
    (hasCorrelation ? ROW_FLAGS.correlation : 0) |
    (traceFlags < 0 ? 0 : ROW_FLAGS.trace | traceFlags);
  const isPacked =
    hasCorrelation && hasEvent === (event_id !== null) && traceFlags < 0 === (traceparent === null);
  if (isPacked) return undefined;
  return {
    ...(hasCorrelation ? {} : { correlation_id }),
    ...(hasEvent ? {} : { event_id }),
    ...(traceFlags < 0 ? { traceparent } : {}),
  };
};

/** `others` are those that are not in the row. */
export const unpackIds = (
  { ids, flags }: RowPage,
  index: number,
  others: Partial<PackableIds> | undefined,
): PackableIds => {
  const word = index * ROW_WORDS;
  const has = flags[index] ?? 0;
  return {
    event_id: has & ROW_FLAGS.event ? unpackUuid(ids, word + ID_WORDS.event) : (others?.event_id ?? null),
    correlation_id:
      has & ROW_FLAGS.correlation
        ? unpackUuid(ids, word + ID_WORDS.correlation)
        : (others?.correlation_id ?? ''),
    traceparent:
      has & ROW_FLAGS.trace
        ? unpackTraceparent(ids, word + ID_WORDS.trace, has & ROW_FLAGS.traceFlags)
        : (others?.traceparent ?? null),
  };
};
