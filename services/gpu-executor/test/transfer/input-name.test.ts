import { describe, expect, it } from 'vitest';
import { inputNames, nameInDisposition, nameInUrl } from '../../src/transfer/input-file.ts';

describe('the name of an input file', () => {
  it('is safe, keeps the extension, and is another one for each file', () => {
    const nameOf = inputNames();
    expect(nameOf('../../x.png', '')).toBe('x.png');
    expect(nameOf('x.png', '')).toBe('x-2.png');
    expect(nameOf('X.PNG', '')).toBe('X-3.PNG');
    expect(nameOf('x-2.png', '')).toBe('x-2-2.png');
    expect(nameOf('con', 'image/png')).toBe('_con.png');
    expect(nameOf('', 'image/jpeg')).toBe('file.jpg');
    expect(nameOf('x'.repeat(300), 'image/png')).toBe(`${'x'.repeat(176)}.png`);
  });

  it('is in the header of a response', () => {
    expect(nameInDisposition('inline; filename=photo.png')).toBe('photo.png');
    expect(nameInDisposition('attachment; filename="my photo.png"')).toBe('my photo.png');
    expect(nameInDisposition(`inline; filename="M?rz.png"; filename*=UTF-8''M%C3%A4rz.png`)).toBe('März.png');
    expect(nameInDisposition("inline; filename*=UTF-8''%E0%A4%A")).toBe('');
    expect(nameInDisposition('inline')).toBe('');
    expect(nameInDisposition(undefined)).toBe('');
  });

  it('or is the last part of the URL', () => {
    expect(nameInUrl(new URL('https://a.example/b/my%20photo.png?x=/y.gif'))).toBe('my photo.png');
    expect(nameInUrl(new URL('https://a.example/%E0%A4%A'))).toBe('%E0%A4%A');
    expect(nameInUrl(new URL('https://a.example/'))).toBe('');
  });
});
