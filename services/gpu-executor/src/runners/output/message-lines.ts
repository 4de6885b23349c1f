import type { Line, LineText } from './cut-lines.ts';
import { depthOfPiece } from './python-json.ts';
import { readLines, type StreamReader } from './read-streams.ts';

/** What may be one message: a line, or the lines of a JSON object that is written over several. */
export interface Written extends LineText {
  /** Its lines, for the log. */
  readonly lines: readonly string[];
}

interface MessageLines {
  push(line: Line): Written[];
  /** What was begun and has not ended. */
  end(): Written[];
}

/**
 * Reads a stream of messages and lines of the log. Lines are cut at `limit` bytes; `means` says of a text that is no JSON whether it means to be
 * a message nevertheless. `draw` gets what is drawn with carriage returns, as a bar of progress is, at once.
 */
export const readMessages = (
  limit: number,
  means: (text: string) => boolean,
  { take, draw }: { readonly take: (written: Written) => void; readonly draw: (drawing: string) => void },
): StreamReader => {
  const messages = messageLines(limit, means);
  const push = (line: Line): void => messages.push(line).forEach(take);
  const reader = readLines(limit, {
    take: push,
    draw,
    onDrawing: (drawing) => {
      const isMessage = MESSAGE.test(drawing.text);
      if (isMessage) push(drawing);
      return isMessage;
    },
  });
  return {
    chunk: (chunk) => reader.chunk(chunk),
    end: () => {
      reader.end();
      messages.end().forEach(take);
    },
  };
};

/**
 * Finds the messages among lines. The lines of an indented JSON object are put together, as `json.dumps(message, indent=2)` writes it: they
 * begin with `{` at the margin, and each of them can follow the one before. An object that does not come to its end within `limit` characters is
 * given back line by line, unless it `means` to be a message: then it is `cut`. A byte order mark, and the bar that a message follows on its
 * line, are no part of it.
 */
const messageLines = (limit: number, means: (text: string) => boolean): MessageLines => {
  let begun: Begun | null = null;

  const giveUp = (cut: boolean): Written[] => {
    if (begun === null) return [];
    const { lines } = begun;
    begun = null;
    const text = lines.join('\n');
    return means(text) ? [{ text, cut, lines }] : lines.map((line) => single({ text: line, cut: false }));
  };

  const begin = (line: LineText): Written[] => {
    const mayGoOn = line.text.startsWith('{') && !line.cut && !/\}\s*$/.test(line.text);
    const depth = mayGoOn ? depthOfPiece(line.text) : null;
    if (depth === null || depth <= 0) return [single(line)];
    begun = { lines: [line.text], length: line.text.length, depth };
    return [];
  };

  const take = (line: LineText): Written[] => {
    if (begun === null) return begin(line);
    // A message of one line ends an object that never came to its end.
    const depth = line.cut || line.text.startsWith('{') ? null : depthOfPiece(line.text);
    if (depth === null) return [...giveUp(line.cut), ...begin(line)];
    if (begun.length + line.text.length > limit) return [...giveUp(true), ...begin(line)];
    begun.lines.push(line.text);
    begun.length += line.text.length + 1;
    begun.depth += depth;
    if (begun.depth > 0) return [];
    const { lines } = begun;
    begun = null;
    return [{ text: lines.join('\n'), cut: false, lines }];
  };

  return {
    push: ({ text, cut, drawn }) => {
      const whole = text.replace(/^\uFEFF/, '');
      const at = drawn ? whole.search(MESSAGE) : 0;
      if (at <= 0) return take({ text: whole, cut });
      return [...take({ text: whole.slice(0, at), cut: false }), ...take({ text: whole.slice(at), cut })];
    },
    end: () => giveUp(false),
  };
};

const MESSAGE = /\{\s*["']?(?:output|progress|live_status|type)["']?\s*:/;

interface Begun {
  readonly lines: string[];
  length: number;
  /** How many brackets are open. */
  depth: number;
}

const single = ({ text, cut }: LineText): Written => ({ text, cut, lines: [text] });
