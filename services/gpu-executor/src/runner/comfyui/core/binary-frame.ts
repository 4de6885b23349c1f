import { isJsonObject, parseJson } from '@runledger/contracts/json';
import type { ServerMessage } from './server-message.ts';

/** All integers of a frame have four bytes, the highest first. */
const INTEGER_BYTES = 4;
const PREVIEW = 1;
const TEXT = 3;
const PREVIEW_WITH_METADATA = 4;

/** Reads a binary message: a preview, or a line of text of a node. */
export const readFrame = (frame: Uint8Array): ServerMessage => {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  if (frame.byteLength < 2 * INTEGER_BYTES) return { kind: 'unreadable' };
  const type = view.getUint32(0);
  if (type === PREVIEW) return { kind: 'preview', prompt_id: null };
  if (type !== TEXT && type !== PREVIEW_WITH_METADATA) return { kind: 'other', type: `binary ${type}` };
  const length = view.getUint32(INTEGER_BYTES);
  const rest = 2 * INTEGER_BYTES + length;
  if (rest > frame.byteLength) return { kind: 'unreadable' };
  const head = decode(frame.subarray(2 * INTEGER_BYTES, rest));
  if (type === TEXT) return { kind: 'text', prompt_id: null, node: head, text: decode(frame.subarray(rest)) };
  const metadata = parseJson(head);
  const prompt_id = isJsonObject(metadata) ? metadata['prompt_id'] : undefined;
  return typeof prompt_id === 'string' ? { kind: 'preview', prompt_id } : { kind: 'unreadable' };
};

const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
