import { v7 as uuidv7 } from 'uuid';

declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

/** UUID, lower case. */
export type RunId = Branded<'RunId'>;
/** UUID, lower case. The tenant; it comes from the caller's API key, never from the request. */
export type OrgId = Branded<'OrgId'>;
/** `<name>-<boot id>`; a restarted executor is a new executor. At most 64 of `A-Z a-z 0-9 _ -`, so it is one subject token. */
export type ExecutorId = Branded<'ExecutorId'>;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const EXECUTOR_ID = /^[A-Za-z0-9_-]{1,64}$/;

export const isUuid = (text: string): boolean => UUID.test(text);
export const isRunId = (text: string): text is RunId => UUID.test(text);
export const isOrgId = (text: string): text is OrgId => UUID.test(text);
/** `none` stands for "no executor" in subjects, so no executor may bear that name. */
export const isExecutorId = (text: string): text is ExecutorId => EXECUTOR_ID.test(text) && text !== 'none';

/** @throws TypeError when the text is not a lower-case UUID. */
export const runId = (text: string): RunId => {
  if (!isRunId(text)) throw new TypeError(`"${text}" is not a run id: a lower-case UUID is expected`);
  return text;
};

/** @throws TypeError when the text is not a lower-case UUID. */
export const orgId = (text: string): OrgId => {
  if (!isOrgId(text))
    throw new TypeError(`"${text}" is not an organisation id: a lower-case UUID is expected`);
  return text;
};

/** @throws TypeError when the text cannot be a subject token of its own. */
export const executorId = (text: string): ExecutorId => {
  if (!isExecutorId(text)) {
    throw new TypeError(
      `"${text}" is not an executor id: 1 to 64 letters, digits, "_" or "-", and not "none"`,
    );
  }
  return text;
};

/** A new UUIDv7: sortable by the time it was made. */
export const newUuid = (): string => uuidv7();
