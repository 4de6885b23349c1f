import { parsePlainJson } from '@runledger/contracts/json';
import type { PackedRows, RowRequest, RowTexts } from '../core/rows/packed-rows.ts';
import { PAGE_ROWS, ROW_WORDS } from '../core/rows/row-page.ts';
import { areTexts } from './snapshot-format.ts';

/** Before the columns, of which those with the largest numbers come first: so each begins at a multiple of the size of its numbers. */
const COUNT_BYTES = 8;
/** Of each row: its own number, its time, the number of its request, its ids and its flags. */
const ROW_BYTES = 8 + 8 + 4 + 4 * ROW_WORDS + 2;
/** The last time that a date can have. */
const MAX_TIME_MS = 8.64e15;

/** Column after column, in the byte order of the machines that Node runs on, and the texts as JSON. */
export const encodeRows = (
  { numbers, createdMs, flags, ids, requests, texts }: PackedRows,
  numberOf: (request: RowRequest) => number,
): Buffer => {
  const count = Buffer.alloc(COUNT_BYTES);
  count.writeUInt32LE(numbers.length);
  const columns = [numbers, createdMs, Uint32Array.from(requests, numberOf), ids, flags];
  const others = JSON.stringify([...texts]);
  return Buffer.concat([count, ...columns.map(bytesOf), Buffer.from(others)]);
};

/** The columns are in the memory of the content, which begins at a multiple of eight. @throws when they are none */
export const decodeRows = (content: Buffer, requests: readonly RowRequest[]): PackedRows => {
  const count = content.length < COUNT_BYTES ? Infinity : content.readUInt32LE();
  if (count > PAGE_ROWS || content.length < COUNT_BYTES + count * ROW_BYTES)
    throw new Error('rows are cut off');
  const { buffer, byteOffset } = content;
  let from = COUNT_BYTES;
  const begin = (bytes: number): number => byteOffset + (from += bytes) - bytes;
  const numbers = new Float64Array(buffer, begin(8 * count), count);
  const createdMs = new Float64Array(buffer, begin(8 * count), count);
  const requestNumbers = new Uint32Array(buffer, begin(4 * count), count);
  const ids = new Uint32Array(buffer, begin(4 * ROW_WORDS * count), ROW_WORDS * count);
  const flags = new Uint16Array(buffer, begin(2 * count), count);
  const others = parsePlainJson(content.subarray(from).toString());
  if (!areTexts.Check(others)) throw new Error('the texts of rows do not match their schema');
  return {
    numbers: checked(numbers, (number) => Number.isSafeInteger(number) && number > 0),
    createdMs: checked(createdMs, (ms) => Number.isInteger(ms) && Math.abs(ms) <= MAX_TIME_MS),
    flags,
    ids,
    requests: Array.from(requestNumbers, (number) => requests[number] ?? unknownRequest(number)),
    // Checked right above; the schema knows no exact optional members.
    texts: new Map(others as [number, RowTexts][]),
  };
};

const bytesOf = ({ buffer, byteOffset, byteLength }: Uint32Array | Float64Array | Uint16Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

const checked = (column: Float64Array, isValid: (value: number) => boolean): Float64Array => {
  for (const value of column) if (!isValid(value)) throw new Error(`a row has the value ${value}`);
  return column;
};

const unknownRequest = (number: number): never => {
  throw new Error(`a row has request ${number}, which is not there`);
};
