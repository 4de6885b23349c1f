import { cutLines, type Line, type TakeDrawing } from './cut-lines.ts';
import type { StreamReader } from './read-streams.ts';

export interface LineReader {
  readonly take: (line: Line) => void;
  /** Gets what is drawn with carriage returns, as a bar of progress is, before its line ends. */
  readonly draw: (drawing: string) => void;
  readonly takeDrawing?: TakeDrawing;
}

/** Reads a stream of lines, cut at `limit` bytes. */
export const readLines = (
  limit: number,
  { take, draw, takeDrawing = () => false }: LineReader,
): StreamReader => {
  const cutter = cutLines(limit, (drawing) => {
    draw(drawing.text);
    return takeDrawing(drawing);
  });
  const takeLine = (line: Line): void => {
    if (line.drawn) draw(line.text);
    take(line);
  };
  return {
    chunk: (chunk) => {
      cutter.push(chunk).forEach(takeLine);
      const drawing = cutter.drawing();
      if (drawing !== '') draw(drawing);
    },
    end: () => cutter.end().forEach(takeLine),
  };
};
