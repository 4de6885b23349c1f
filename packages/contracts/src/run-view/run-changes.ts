import type { RunChange } from '../http/run-history.ts';
import { isJsonObject, type JsonValue } from '../json.ts';

/** Each fact changes it, to its own time. */
const UNSAID: ReadonlySet<string> = new Set(['updated_at']);

type Members = Readonly<Record<string, JsonValue>>;

/** What differs between two states of a run as clients see it: the innermost members. Members that are not there count as null. */
export const runChanges = (before: Members | undefined, after: Members | undefined): RunChange[] =>
  Object.keys(after ?? before ?? {}).flatMap((name) =>
    UNSAID.has(name) ? [] : changesOf(name, before?.[name] ?? null, after?.[name] ?? null),
  );

const changesOf = (member: string, before: JsonValue, after: JsonValue): RunChange[] => {
  if (Array.isArray(before) && Array.isArray(after)) {
    const length = Math.max(before.length, after.length);
    return Array.from({ length }, (_, n) => n).flatMap((n) =>
      changesOf(`${member}[${n}]`, before[n] ?? null, after[n] ?? null),
    );
  }
  if (isJsonObject(before) && isJsonObject(after)) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...names].flatMap((name) =>
      changesOf(`${member}.${name}`, before[name] ?? null, after[name] ?? null),
    );
  }
  return JSON.stringify(before) === JSON.stringify(after) ? [] : [{ member, before, after }];
};
