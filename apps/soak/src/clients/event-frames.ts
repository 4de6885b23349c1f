/** A server-sent event with content; comments and `retry` say nothing to a watcher. */
export interface Frame {
  readonly event: string;
  readonly id: string | null;
  readonly data: string;
}

/** Takes the text of a stream in whatever pieces it comes, and gives the events that are whole by then. */
export const frameReader = (): ((text: string) => Frame[]) => {
  let begun = '';
  return (text) => {
    const blocks = (begun + text).split('\n\n');
    begun = blocks.pop() ?? '';
    return blocks.flatMap(readFrame);
  };
};

const readFrame = (block: string): Frame[] => {
  const fields = new Map<string, string>();
  for (const line of block.split('\n')) {
    const [, name, value] = /^(event|id|data): ?(.*)$/.exec(line) ?? [];
    if (name !== undefined && value !== undefined) fields.set(name, value);
  }
  const data = fields.get('data');
  if (data === undefined) return [];
  return [{ event: fields.get('event') ?? 'message', id: fields.get('id') ?? null, data }];
};
