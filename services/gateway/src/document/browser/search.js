// Finds operations on narrow screens, where the renderer of the reference shows no navigation.
const wanted = document.getElementById('wanted');
const found = document.getElementById('found');
const explorer = document.querySelector('openapi-explorer');

let operations = [];
explorer.addEventListener('spec-loaded', ({ detail }) => {
  operations = detail.tags.flatMap((tag) => tag.paths.map((path) => ({ ...path, tag: tag.name })));
});

const show = () => {
  const words = wanted.value.toLowerCase().split(/\s+/).filter(Boolean);
  const text = ({ method, path, summary, tag, operationId }) =>
    `${method} ${path} ${summary} ${tag} ${operationId}`.toLowerCase();
  const matches = operations.filter((one) => words.every((word) => text(one).includes(word)));
  found.replaceChildren(...(matches.length === 0 ? [sentence('No operation matches.')] : matches.map(link)));
  found.hidden = words.length === 0;
};

const link = ({ method, summary, elementId }) => {
  const entry = document.createElement('li');
  const anchor = document.createElement('a');
  const verb = document.createElement('b');
  verb.textContent = method.toUpperCase();
  anchor.href = `#?route=${elementId}`;
  anchor.append(verb, ` ${summary}`);
  entry.append(anchor);
  return entry;
};

const sentence = (text) => {
  const entry = document.createElement('li');
  entry.textContent = text;
  return entry;
};

const close = () => {
  found.hidden = true;
};

wanted.addEventListener('input', show);
wanted.addEventListener('focus', show);
found.addEventListener('click', close);
document.addEventListener('keydown', ({ key }) => key === 'Escape' && close());
document.addEventListener('pointerdown', ({ target }) => target.closest('#narrow') ?? close());
