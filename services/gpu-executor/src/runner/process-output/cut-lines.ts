/** A line of a program's output without its line end; `cut` when it was longer than the limit, and the rest is lost. */
export interface Line {
  text: string;
  cut: boolean;
}

export interface LineCutter {
  push(chunk: Buffer): Line[];
  /** The text after the last line end, if there is any. */
  end(): Line[];
}

/** Cuts a stream of bytes into lines while never holding more than `limit` bytes of it. */
export const cutLines = (limit: number): LineCutter => {
  let parts: Buffer[] = [];
  let length = 0;
  let cut = false;

  const keep = (piece: Buffer): void => {
    const room = limit - length;
    if (piece.length > room) cut = true;
    // A copy: the piece is a view that would keep its whole chunk in memory.
    const kept = Buffer.from(piece.subarray(0, room));
    if (kept.length === 0) return;
    parts.push(kept);
    length += kept.length;
  };

  const take = (): Line => {
    const line = { text: withoutReturn(Buffer.concat(parts).toString('utf8')), cut };
    parts = [];
    length = 0;
    cut = false;
    return line;
  };

  return {
    push: (chunk) => {
      const lines: Line[] = [];
      let from = 0;
      for (let end = chunk.indexOf(0x0a); end !== -1; end = chunk.indexOf(0x0a, from)) {
        if (length === 0 && !cut && end - from <= limit)
          lines.push({ text: withoutReturn(chunk.toString('utf8', from, end)), cut });
        else {
          keep(chunk.subarray(from, end));
          lines.push(take());
        }
        from = end + 1;
      }
      keep(chunk.subarray(from));
      return lines;
    },
    end: () => (length > 0 || cut ? [take()] : []),
  };
};

const withoutReturn = (text: string): string => (text.endsWith('\r') ? text.slice(0, -1) : text);
