import type { Bytes } from '../api/operation-types.ts';
import { withMember } from '../errors/foreign-answer.ts';
import { isObject } from '../json/json.ts';
import { isFile, type Request } from '../http/request.ts';
import type { Settings } from '../http/settings.ts';
import { uploadFile } from './upload-file.ts';

/** A value of an input: JSON, where a bigint is a number, or a file, which is uploaded before the run is queued. */
export type InputValue = string | number | bigint | boolean | Bytes | readonly unknown[];
/** Values by input name. A member that is undefined counts as left out. */
export type Inputs = Readonly<Record<string, InputValue | undefined>>;

/** The inputs as the API takes them: in the place of each file its id. @throws RunledgerError, the reason of the signal */
export const withUploadedFiles = async (
  settings: Settings,
  request: Request,
  inputs: Inputs,
  signal: AbortSignal | undefined,
): Promise<Record<string, string | number | boolean | unknown[]>> => {
  const idOf = async (value: unknown): Promise<unknown> => {
    if (isFile(value)) return withMember(await uploadFile(settings, request, value, { signal }), 'id').id;
    if (Array.isArray(value)) {
      const items: unknown[] = [];
      // One after the other: a gateway keeps a part of each in memory.
      for (const item of value) items.push(await idOf(item));
      return items;
    }
    return isPlain(value) ? withIds(value) : value;
  };
  const withIds = async (members: Readonly<Record<string, unknown>>): Promise<Record<string, unknown>> => {
    const all: [string, unknown][] = [];
    for (const [name, value] of Object.entries(members)) all.push([name, await idOf(value)]);
    return Object.fromEntries(all);
  };
  return (await withIds(inputs)) as Record<string, string | number | boolean | unknown[]>;
};

/** Not one that JSON writes in its own way, such as a Date. */
const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  isObject(value) && [Object.prototype, null].includes(Object.getPrototypeOf(value));
