/** A line of a program's output without its line end. */
export interface LineText {
  readonly text: string;
  /** It was longer than the limit, and the rest is lost. */
  readonly cut: boolean;
}

export interface Line extends LineText {
  /** It was drawn more than once, with carriage returns, as a bar of progress is. */
  readonly drawn: boolean;
}

export interface LineCutter {
  push(chunk: Buffer): Line[];
  /** What is drawn now: of a line that has not ended, what follows its last carriage return; empty where there is none. */
  drawing(): string;
  /** The text after the last line end, if there is any. */
  end(): Line[];
}

/**
 * Takes what was drawn before a carriage return, after which the line is drawn again, as a bar of progress does. True: it was a message, and
 * is no part of the line.
 */
export type OnDrawing = (drawing: Line) => boolean;

const LF = 0x0a;
const CR = 0x0d;
/** Bytes. A bar is shorter. */
const MAX_DRAWING = 4 * 1024;

/**
 * Cuts a stream of bytes into lines while never holding more than `limit` bytes of it. Of a line that was drawn several times the last drawing
 * counts that is not empty, as in a terminal.
 */
export const cutLines = (limit: number, onDrawing: OnDrawing = () => false): LineCutter => {
  const line = openLine(limit, onDrawing);
  /** The last chunk ended with a carriage return: the next byte says of what. */
  let returned = false;
  return {
    push: (chunk) => {
      const lines: Line[] = [];
      if (chunk.length === 0) return lines;
      if (returned) {
        if (chunk[0] !== LF) line.endDrawing();
        returned = false;
      }
      let from = 0;
      let back = chunk.indexOf(CR);
      /** Ends the drawings before a place, which is a line end or the end of the chunk. */
      const endDrawings = (before: number): void => {
        for (; back !== -1 && back < before - 1; back = chunk.indexOf(CR, from)) {
          line.keep(chunk.subarray(from, back));
          line.endDrawing();
          from = back + 1;
        }
      };
      for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, from)) {
        endDrawings(end);
        const stop = back === end - 1 && back >= from ? back : end;
        if (line.isNew() && stop > from && stop - from <= limit)
          lines.push({ text: chunk.toString('utf8', from, stop), cut: false, drawn: false });
        else {
          line.keep(chunk.subarray(from, stop));
          lines.push(...line.end());
        }
        from = end + 1;
        if (back !== -1 && back < from) back = chunk.indexOf(CR, from);
      }
      endDrawings(chunk.length);
      returned = back !== -1 && back === chunk.length - 1;
      line.keep(chunk.subarray(from, returned ? back : chunk.length));
      return lines;
    },
    drawing: () => line.drawing(),
    end: () => {
      returned = false;
      return line.isNew() ? [] : line.end();
    },
  };
};

/** The line that has not ended. */
interface OpenLine {
  keep(piece: Buffer): void;
  /** What was kept after the last carriage return. */
  drawing(): string;
  /** Nothing of it was written. */
  isNew(): boolean;
  endDrawing(): void;
  /** None when everything that was drawn is taken. */
  end(): Line[];
}

const openLine = (limit: number, onDrawing: OnDrawing): OpenLine => {
  let parts: Buffer[] = [];
  let length = 0;
  let cut = false;
  /** The line was drawn before, and how at last; null when that was a message. */
  let drawn: { readonly last: Line | null } | null = null;

  const text = (): string => Buffer.concat(parts).toString('utf8');
  const take = (): Line => {
    const line = { text: text(), cut, drawn: drawn !== null };
    parts = [];
    length = 0;
    cut = false;
    return line;
  };

  return {
    drawing: () => (drawn !== null && length <= MAX_DRAWING ? text() : ''),
    isNew: () => length === 0 && !cut && drawn === null,
    keep: (piece) => {
      const free = limit - length;
      if (piece.length > free) cut = true;
      // A copy: the piece is a view that would keep its whole chunk in memory.
      const part = Buffer.from(piece.subarray(0, free));
      if (part.length === 0) return;
      parts.push(part);
      length += part.length;
    },
    endDrawing: () => {
      const drawing = { ...take(), drawn: true };
      const last = drawn?.last ?? null;
      if (drawing.text === '') drawn = { last };
      else drawn = { last: onDrawing(drawing) ? null : drawing };
    },
    end: () => {
      const before = drawn;
      const line = take();
      drawn = null;
      if (before === null || line.text !== '') return [line];
      return before.last === null ? [] : [before.last];
    },
  };
};
