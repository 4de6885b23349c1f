import { packTraceparent, packUuid, textOf, unpackTexts } from './packed-text.ts';
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

/** With that of the run. `others` are those that are not in the row. */
export const unpackIds = (
  { ids, flags }: RowPage,
  index: number,
  others: Partial<PackableIds> | undefined,
): PackableIds & { readonly run_id: string } => {
  const has = flags[index] ?? 0;
  const texts = unpackTexts(ids, index * ROW_WORDS, has & ROW_FLAGS.traceFlags);
  return {
    run_id: textOf.uuid(texts, 0),
    event_id: has & ROW_FLAGS.event ? textOf.uuid(texts, 1) : (others?.event_id ?? null),
    correlation_id: has & ROW_FLAGS.correlation ? textOf.uuid(texts, 2) : (others?.correlation_id ?? ''),
    traceparent: has & ROW_FLAGS.trace ? textOf.traceparent(texts) : (others?.traceparent ?? null),
  };
};
