/** A part of a page: text, or the commands and the answer of a fenced block. */
export type Part =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'commands'; readonly text: string; readonly fence: string }
  | { readonly kind: 'answer'; readonly text: string; readonly form: 'json' | 'text' };

const FENCE = /^```(sh(?: setup)?|json|text)\n([\s\S]*?)^```$/gm;

/** Takes a page apart; put together again, it is the same. */
export const partsOf = (page: string): Part[] => {
  const parts: Part[] = [];
  let end = 0;
  for (const found of page.matchAll(FENCE)) {
    const [whole, fence = '', text = ''] = found;
    parts.push({ kind: 'text', text: page.slice(end, found.index) });
    end = found.index + whole.length;
    if (fence === 'json' || fence === 'text') parts.push({ kind: 'answer', text, form: fence });
    else parts.push({ kind: 'commands', text, fence });
  }
  parts.push({ kind: 'text', text: page.slice(end) });
  return parts;
};

export const pageOf = (parts: readonly Part[]): string =>
  parts
    .map((part) => {
      switch (part.kind) {
        case 'text':
          return part.text;
        case 'commands':
          return `\`\`\`${part.fence}\n${part.text}\`\`\``;
        case 'answer':
          return `\`\`\`${part.form}\n${part.text}\`\`\``;
      }
    })
    .join('');

/** One program for a shell, which writes a line between what one block answers and the next. */
export const scriptOf = (parts: readonly Part[], between: string): string =>
  parts
    .flatMap((part) => (part.kind === 'commands' && part.fence === 'sh' ? [part.text] : []))
    .map((commands) => `{\n${commands}}\necho; echo '${between}'\n`)
    .join('');

/** JSON as it is written here, however a formatter has laid it out. */
export const laidOut = (part: Part): Part =>
  part.kind === 'answer' && part.form === 'json'
    ? { ...part, text: `${JSON.stringify(JSON.parse(part.text), null, 2)}\n` }
    : part;

/** With what differs from one session to the next left out. */
export const comparable = (answer: string): string =>
  answer
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UUID')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, 'TIME')
    .replaceAll(/http:\/\/127\.0\.0\.1:\d+\/outputs\/[\w-]+/g, 'URL')
    .replaceAll(/rl_[\w-]+/g, (key) => (key.length > 10 ? 'KEY' : 'PREFIX'))
    .replaceAll(/^id: \d+$/gm, 'id: N')
    .replaceAll(/"(sequence|number|\w*duration\w*|progress|for_s)": ?[\d.]+/g, '"$1": N');
