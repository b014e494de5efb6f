/** Separate files: the security policy allows no inline code. */
import { asTyped } from '../../base/typed.ts';
import type { PageBundle } from '../../web/pages/bundle.ts';

export interface Asset {
  readonly type: string;
  readonly body: string;
}

const DOCUMENT = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>svcnet</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="page.css">
</head>
<body>
<noscript>This page needs JavaScript to show the network.</noscript>
<script src="page.js"></script>
</body>
</html>
`;

export function pageAssets({ script, style }: PageBundle): ReadonlyMap<string, Asset> {
  return new Map([
    ['', { type: 'text/html', body: DOCUMENT }],
    ['page.js', { type: 'text/javascript', body: asTyped(script) }],
    ['page.css', { type: 'text/css', body: style }],
  ]);
}
