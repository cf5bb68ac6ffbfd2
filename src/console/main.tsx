import { render } from "preact";
import { followLinks, route } from "./address.ts";
import { Console } from "./frame/console.tsx";
import { prepareScreen } from "./frame/screen.tsx";
import { keepChoices } from "./frame/theme.ts";
import { startClock } from "./machine.ts";
// Parts that many screens share. An import here puts them into the script of the page; else each would be a request.
import "./parts/add-form.tsx";
import "./parts/busy.ts";
import "./parts/command.tsx";
import "./parts/confirm.tsx";
import "./parts/empty.tsx";
import "./parts/page.tsx";
import "./parts/pager.tsx";
import "./parts/selection.tsx";
import "./parts/tabs.tsx";
import "./parts/tag.tsx";
import "./parts/time.tsx";

keepChoices();
startClock();
followLinks(prepareScreen);
// At the same time as the request for the session.
prepareScreen(route.value);
const root = document.getElementById("console");
if (root !== null) render(<Console />, root);
